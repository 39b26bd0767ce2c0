"""Distributions side by side: the share at or below a value, and the tail on logarithmic axes.

Model: tables of ``analysis.capture.distributions``; the pale area is the 95% band around the whole curve.
Leaves out fitted lines: the page's table has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from airperf.plots import style


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity with its unit, what is counted, and a curve for each label."""

    quantity: str
    counted: str
    curves: Mapping[str, pl.DataFrame]


def pairs(name: str, panels: Sequence[Panel]) -> str:
    """SVG with a row for each panel: distribution at the left, tail at the right."""
    with style.look():
        figure = style.figure(0.4 + 2.9 * len(panels))
        grid = figure.subplots(len(panels), 2, squeeze=False)
        for (left, right), panel in zip(grid, panels, strict=True):
            style.panel(left, "", panel.quantity, f"{panel.counted} at or below")
            style.panel(right, "", panel.quantity, "share at or above")
            for index, (label, table) in enumerate(panel.curves.items()):
                _curve(left, right, index, label, table)
            left.yaxis.set_major_formatter(PercentFormatter(1.0))
            left.set_ylim(0, 1.02)
            if any(table.height for table in panel.curves.values()):
                style.log_scale(right, "x", "y")
            if len(panel.curves) > 1:
                left.legend(loc="best")
            _wide(left)
        return style.svg(figure, name)


def _curve(left: Axes, right: Axes, index: int, label: str, table: pl.DataFrame) -> None:
    look: dict[str, Any] = {"color": style.CYCLE[index], "linestyle": style.LINES[index], "label": label}
    left.fill_between(
        table["value"],
        table["low"],
        table["high"],
        step="post",
        color=style.CYCLE[index],
        alpha=0.15,
        linewidth=0,
    )
    begin = table.head(1).with_columns(share=pl.lit(0.0))  # from nothing up to the share of the least value
    steps = pl.concat([begin, table])
    left.plot(steps["value"], steps["share"], drawstyle="steps-post", **look)
    positive = table.filter(pl.col("value") > 0)
    dot = "o" if positive.height == 1 else ""  # of one value there is no line
    right.plot(positive["value"], positive["longer"], drawstyle="steps-pre", marker=dot, markersize=4, **look)


def _wide(axes: Axes) -> None:
    """A logarithmic axis for values that span more than two decades; zeros stay at the left edge."""
    low, high = axes.xaxis.get_data_interval()
    if low > 0 and high > 100 * low:
        style.log_scale(axes, "x")
    else:
        axes.set_xlim(left=0)
