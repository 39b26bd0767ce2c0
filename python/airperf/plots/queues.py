"""Transmit queues over time.

Model: mean occupancy over each sampling interval, one line per station and run; the limit as a line of its
own. Leaves out single packets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from airperf.plots import style


def depths_over_time(
    panels: Mapping[str, Sequence[pl.DataFrame]], limit: float | None, load_s: float, name: str = "queues"
) -> str:
    """SVG with one panel for each title; the first run of each in full colour, further repetitions faint."""
    with style.look():
        lines = -(-len(panels) // 2)
        figure = style.figure(3.3 if lines == 1 else 2.8 * lines)
        grid = figure.subplots(lines, min(2, len(panels)), squeeze=False).ravel()
        for axes, (title, runs) in zip(grid, panels.items(), strict=False):
            style.panel(axes, title, "time (s)", "packets waiting")
            for number, table in enumerate(runs):
                for index, (key, rows) in enumerate(table.group_by("station", maintain_order=True)):
                    axes.plot(
                        rows["time_s"],
                        rows["packets"],
                        color=style.CYCLE[index % len(style.CYCLE)],
                        linestyle=style.LINES[index % len(style.LINES)],
                        linewidth=1.3 if number == 0 else 0.6,
                        alpha=1.0 if number == 0 else 0.35,
                        label=str(key[0]) if number == 0 else None,
                    )
            if limit is not None:
                axes.axhline(
                    limit, color=style.QUIET, linestyle=(0, (2, 1)), linewidth=1, label=f"limit {limit:g}"
                )
            axes.axvline(load_s, color=style.RULE, linewidth=1.2)
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        for axes in grid[len(panels) :]:
            axes.remove()
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=6)
        return style.svg(figure, name)
