"""The airtime budget: what the link's time was used for.

Model: shares of the elapsed time that add up to one. Leaves out who used it.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.ticker import PercentFormatter

from airperf.plots import style

LOOKS = {
    "data": (style.BLUE, ""),
    "headers": (style.SKY, ""),
    "ack": (style.GREEN, "///"),
    "control": (style.GREEN, "..."),
    "ifs": (style.YELLOW, ""),
    "backoff": (style.ORANGE, "\\\\\\"),
    "host_gap": (style.PURPLE, "..."),
    "collision": (style.VERMILION, "xxx"),
    "retry": (style.VERMILION, ""),
    "garbled": (style.VERMILION, "---"),
    "noise": (style.VERMILION, "ooo"),
    "setup": (style.ORANGE, "///"),
    "beacon": (style.BLACK, ""),
    "management": (style.BLACK, "///"),
    "unfinished": (style.BLACK, "..."),
    "idle": ("#e9edf2", ""),
}
"""Colour and hatch of each category, in the order of stacking."""


OTHER = (style.QUIET, "ooo")
"""Of a category that this version does not know."""


def budget(table: pl.DataFrame, label: str, name: str = "airtime") -> str:
    """SVG of stacked bars; the table as ``analysis.panels.airtime_shares`` gives it."""
    with style.look():
        figure = style.figure(4.2)
        axes = figure.subplots()
        style.panel(axes, "Airtime", label, "share of the elapsed time")
        levels = table["level"].unique().sort().to_list()
        bottom = [0.0] * len(levels)
        for category in _order(table):
            rows = dict(table.filter(pl.col("category") == category).select("level", "share").iter_rows())
            shares = [float(rows.get(level) or 0.0) for level in levels]
            axes.bar(range(len(levels)), shares, bottom=bottom, width=0.78, **_look(category))
            bottom = [low + share for low, share in zip(bottom, shares, strict=True)]
        axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
        axes.grid(visible=False, axis="x")
        axes.set_xlim(-0.6, len(levels) - 0.4)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5))
        return style.svg(figure, name)


def bar(table: pl.DataFrame) -> str:
    """SVG of one bar along the page; the table has one row for each ``category`` with its ``share``."""
    with style.look():
        figure = style.figure(1.9)
        axes = figure.subplots()
        left = 0.0
        for name in _order(table):
            share = float(table.filter(pl.col("category") == name)["share"].item())
            axes.barh(0, share, left=left, height=0.8, **_look(name))
            left += share
        axes.set_xlabel("share of the elapsed time")
        axes.xaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlim(0, 1)
        axes.grid(visible=False, axis="y")
        figure.legend(loc="outside upper center", ncols=8)
        return style.svg(figure, "airtime")


def _order(table: pl.DataFrame) -> list[str]:
    """The categories with more than 0.01%, in the order of stacking."""
    names = table.filter(pl.col("share") > 1e-4)["category"].unique().to_list()
    known = [name for name in LOOKS if name in names]
    known[-1:-1] = sorted(set(names) - set(LOOKS))  # what is unknown goes below the idle time
    return known


def _look(name: str) -> dict[str, Any]:
    colour, hatch = LOOKS.get(name, OTHER)
    return {
        "color": colour,
        "hatch": hatch,
        "edgecolor": "white",
        "linewidth": 0.4,
        "label": name.replace("_", " "),
    }
