"""Who gets how much, over time: one line for each client.

Model: completions per second in bins, as ``analysis.sharing.shares_over_time`` gives them. Leaves out
intervals: one run is shown, so that turns and reversals stay visible.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from airperf.plots import style


def shares_over_time(panels: Mapping[str, pl.DataFrame], name: str) -> str:
    """SVG with one panel for each run, two in a row."""
    with style.look():
        rows = -(-len(panels) // 2)
        figure = style.figure(2.9 * rows)
        grid = figure.subplots(rows, min(2, len(panels)), squeeze=False).ravel()
        top = max((float(table["rps"].max() or 0.0) for table in panels.values()), default=1.0)  # type: ignore[arg-type]
        for axes, (title, table) in zip(grid, panels.items(), strict=False):
            style.panel(axes, title, "time in the run (s)", "completed (transactions/s)")
            for index, (key, lines) in enumerate(table.group_by("client", maintain_order=True)):
                axes.plot(
                    lines["time_s"],
                    lines["rps"],
                    color=style.CYCLE[index % len(style.CYCLE)],
                    linestyle=style.LINES[index % len(style.LINES)],
                    label=str(key[0]),
                )
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1.1 * top or 1.0)
        for axes in grid[len(panels) :]:
            axes.remove()
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=6)
        return style.svg(figure, name)
