"""Who was connected when: a line for each connection, a row for each client.

Model: first to last packet. Connections that overlap share the height of their client's row. Leaves out how
much was sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.lines import Line2D

from airperf.plots import style
from airperf.plots.capture.traffic import TIME

CLASSES = {
    "syn_fin": (style.BLUE, "closed with FIN"),
    "syn_rst": (style.ORANGE, "closed with RST"),
    "syn_unfinished": (style.GREEN, "open at the end"),
    "syn_no_synack": (style.VERMILION, "never answered"),
    "no_syn": (style.BLACK, "begun before"),
}
"""Colour of each class of connections, and what it is."""

LANES = 7


def timeline(spans: pl.DataFrame, clients: Sequence[str], duration_s: float) -> str:
    """SVG of the connections of these clients, a table as ``analysis.capture.connections.spans`` gives."""
    with style.look():
        figure = style.figure(1.1 + 0.34 * max(len(clients), 2))
        axes = figure.subplots()
        style.panel(axes, "", TIME, "")
        many = spans.height > 1_500
        for row, client in enumerate(clients):
            own = spans.filter(pl.col("client") == client)
            lanes = [0.0] * LANES
            heights = []
            for start, length in own.select("start_s", "duration_s").iter_rows():
                free = next((index for index, until in enumerate(lanes) if until <= start), None)
                lane = free if free is not None else lanes.index(min(lanes))
                lanes[lane] = max(lanes[lane], start + length)
                heights.append(row - 0.33 + 0.66 * lane / (LANES - 1))
            own = own.with_columns(height=pl.Series(heights, dtype=pl.Float64))
            for name, (colour, _) in CLASSES.items():
                some = own.filter(pl.col("class") == name)
                least = duration_s / 1_200  # what is shorter than a dot is drawn as one
                end = some["start_s"] + some["duration_s"].clip(lower_bound=least)
                axes.hlines(
                    some["height"], some["start_s"], end, color=colour, linewidth=1.7, rasterized=many
                )
        axes.set_yticks(range(len(clients)), list(clients))
        axes.set_ylim(len(clients) - 0.5, -0.5)
        axes.set_xlim(0, duration_s or 1.0)
        axes.grid(visible=False, axis="y")
        seen = set(spans["class"].to_list())
        shown = [look for name, look in CLASSES.items() if name in seen]
        handles = [Line2D([], [], color=colour, linewidth=2.4) for colour, _ in shown]
        figure.legend(handles, [label for _, label in shown], loc="outside upper center", ncols=5)
        return style.svg(figure, "activity")
