"""Connection durations: over the time of a run, and as distributions.

Model: first to last frame on the air of connections that were opened and closed. Points are drawn as
pixels, since a run has thousands. Leaves out connections that never closed; the tables count them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.ticker import PercentFormatter

from airperf.plots import style


def durations_over_time(
    by_level: Mapping[float, pl.DataFrame], unit: str = "/s", name: str = "durations"
) -> str:
    """SVG with one panel for each level; tables as ``analysis.panels.durations`` gives them."""
    with style.look():
        columns = min(2, len(by_level))
        rows = -(-len(by_level) // columns)
        figure = style.figure(2.9 * rows)
        grid = np.atleast_1d(figure.subplots(rows, columns)).ravel()
        for axes, (level, table) in zip(grid, by_level.items(), strict=False):
            mean = float(np.mean(table["duration_ms"].to_numpy())) if table.height else 0.0
            about = f"mean {mean:,.1f} ms, n = {table.height:,}" if table.height else "no connections"
            style.panel(axes, f"{level:g}{unit}   ({about})", "time in the run (s)", "duration (ms)")
            axes.plot(
                table["start_s"],
                table["duration_ms"],
                linestyle="none",
                marker="o",
                markersize=1.8,
                markeredgewidth=0,
                alpha=0.55,
                color=style.BLUE,
                rasterized=True,
            )
            axes.set_xlim(left=0)
            top = float(table["duration_ms"].max() or 1.0)  # type: ignore[arg-type]
            if top > 100:
                style.log_scale(axes, "y")
            else:
                axes.set_ylim(0, 1.15 * top)
        for axes in grid[len(by_level) :]:
            axes.remove()
        return style.svg(figure, name)


def distributions(
    by_level: Mapping[float, pl.DataFrame], unit: str = "/s", name: str = "distributions"
) -> str:
    """SVG of distributions and their tails; tables as ``analysis.panels.distribution`` gives them."""
    with style.look():
        figure = style.figure(3.9)
        left, right = figure.subplots(1, 2)
        style.panel(left, "Distribution", "connection duration (ms)", "connections at or below")
        style.panel(
            right,
            "Tail",
            "connection duration (ms)",
            "connections at least as long",
        )
        for index, (level, table) in enumerate(by_level.items()):
            look = {"color": style.CYCLE[index], "linestyle": style.LINES[index], "label": f"{level:g}{unit}"}
            left.plot(table["duration_ms"], table["share"], drawstyle="steps-post", **look)
            longer = 1 - table["share"].shift(1, fill_value=0.0)
            right.plot(table["duration_ms"], longer, drawstyle="steps-pre", **look)
        left.yaxis.set_major_formatter(PercentFormatter(1.0))
        left.set_ylim(0, 1.02)
        if any(table.height for table in by_level.values()):
            style.log_scale(left, "x")
            style.log_scale(right, "x", "y")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=6)
        return style.svg(figure, name)
