"""Panels of quantities against a factor: transactions/s, throughput, response time, errors and more.

Model: simulation as mean with its 95% interval as a band; emulation as open marks with bars; what was
published as grey bands and lines, drawn only where the text gives a number. Leaves out points read off
printed figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from airperf.plots import style
from airperf.plots.looks import PANELS, PHASES, Panel
from airperf.plots.published import draw_published


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its table as ``analysis.panels.by_level`` gives it."""

    label: str
    table: pl.DataFrame
    emulated: bool = False


def sweep(
    name: str,
    panels: Sequence[str],
    series: Sequence[Series],
    x: str,
    published: Sequence[Mapping[str, Any]] = (),
    log_x: bool = False,
) -> str:
    """SVG of panels side by side, two in a row; empty series draw nothing."""
    with style.look():
        rows = -(-len(panels) // 2)
        figure = style.figure(4.1 * rows if rows > 1 else 3.9)
        grid = figure.subplots(rows, min(2, len(panels)), squeeze=False).ravel()
        for axes, key in zip(grid, panels, strict=False):
            panel = PANELS[key]
            style.panel(axes, panel.title, x, panel.label)
            if key == "errors":
                _errors(axes, series)
            else:
                _panel(axes, panel, series, [item for item in published if item["panel"] == key])
            _scale(axes, panel, log_x)
        for axes in grid[len(panels) :]:
            axes.remove()
        handles, labels = _legend([axes for axes, key in zip(grid, panels, strict=False) if key != "errors"])
        figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
        return style.svg(figure, name)


def _panel(
    axes: Axes, panel: Panel, series: Sequence[Series], published: Sequence[Mapping[str, Any]]
) -> None:
    for index, one in enumerate(s for s in series if not s.emulated):
        _simulated(axes, one, panel.quantity, index)
    for index, one in enumerate(s for s in series if s.emulated):
        _emulated(axes, one, panel.quantity, index)
    if panel.dotted and series:
        _dotted(axes, panel, series[0].table)
    if panel.log and axes.lines:
        style.log_scale(axes, "y")
    draw_published(axes, published)


def _scale(axes: Axes, panel: Panel, log_x: bool) -> None:
    if log_x and axes.lines:
        ticks = sorted({float(x) for line in axes.lines for x in np.asarray(line.get_xdata())})
        axes.set_xscale("log", base=2)
        axes.set_xticks(_apart(ticks))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    if axes.get_yscale() != "log" and not panel.zoom:
        axes.set_ylim(bottom=0, top=panel.top)


def _apart(ticks: Sequence[float]) -> list[float]:
    """Those of rising ticks whose labels do not touch on a logarithmic axis; the last one stays."""
    kept: list[float] = []
    for tick in reversed(ticks):
        if not kept or kept[-1] / tick > 1.3:
            kept.append(tick)
    return kept[::-1]


def _legend(grid: Sequence[Axes]) -> tuple[list[Any], list[str]]:
    """Every label of these panels once."""
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def rows_of(table: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """The levels at which a quantity was measured, rising."""
    return table.filter((pl.col("quantity") == quantity) & pl.col("mean").is_not_null()).sort("level")


def _simulated(axes: Axes, series: Series, quantity: str, index: int) -> None:
    rows = rows_of(series.table, quantity)
    if rows.is_empty():
        return
    colour = style.CYCLE[index % len(style.CYCLE)]
    text = f"{series.label} (n = {_n(rows)})"
    axes.plot(
        rows["level"],
        rows["mean"],
        linestyle=style.LINES[index % len(style.LINES)],
        marker=style.MARKERS[index % len(style.MARKERS)],
        color=colour,
        label=text,
        zorder=3,
    )
    _band(axes, rows, colour, floor=rows["mean"].min() if quantity.endswith("_ms") else 0.0)


def _dotted(axes: Axes, panel: Panel, table: pl.DataFrame) -> None:
    rows = rows_of(table, panel.dotted)
    if not rows.is_empty():
        (line,) = axes.plot(rows["level"], rows["mean"], ":", color=style.BLUE, linewidth=1.4, zorder=3)
        axes.legend([line], [panel.dotted_label], loc="best")


def _n(rows: pl.DataFrame) -> int:
    """Repetitions behind every point; the smallest number where points differ."""
    return int(min(rows["n"].to_list()))


def _band(axes: Axes, rows: pl.DataFrame, colour: str, floor: Any) -> None:
    """The interval; cut at ``floor``, below which these quantities cannot be."""
    band = rows.drop_nulls(["low", "high"])
    if not band.is_empty():
        low = band["low"].clip(lower_bound=floor)
        axes.fill_between(band["level"], low, band["high"], color=colour, alpha=0.22, linewidth=0, zorder=2)


def _emulated(axes: Axes, series: Series, quantity: str, index: int = 0) -> None:
    rows = rows_of(series.table, quantity)
    if rows.is_empty():
        return
    colour = (style.VERMILION, style.PURPLE, style.GREEN)[index % 3]
    axes.plot(
        rows["level"],
        rows["mean"],
        linestyle="none",
        marker="sDo"[index % 3],
        markersize=8.5,
        markerfacecolor="none",
        markeredgecolor=colour,
        markeredgewidth=1.8,
        label=f"{series.label} (n = {_n(rows)})",
        zorder=5,
    )
    bars = rows.drop_nulls(["low", "high"])
    if not bars.is_empty():
        axes.vlines(bars["level"], bars["low"].clip(lower_bound=0), bars["high"], color=colour, zorder=5)


def _errors(axes: Axes, series: Sequence[Series]) -> None:
    """Errors of the first simulated series by phase, and the sums of emulated ones."""
    sim = next((s.table for s in series if not s.emulated), None)
    quiet = []
    for index, phase in enumerate(PHASES):
        rows = pl.DataFrame() if sim is None else rows_of(sim, f"errors_{phase}_per_s")
        if rows.is_empty() or float(rows["mean"].sum()) == 0:
            quiet.append(phase)
            continue
        colour = style.CYCLE[(index + 2) % len(style.CYCLE)]
        axes.plot(
            rows["level"],
            rows["mean"],
            linestyle=style.LINES[index],
            marker=style.MARKERS[index],
            color=colour,
            label=f"sim: {phase}",
        )
        _band(axes, rows, colour, floor=0.0)
    emulated = [one for one in series if one.emulated]
    for index, one in enumerate(emulated):
        _emulated(axes, one, "errors_per_s", index)
    if quiet and sim is not None and not sim.is_empty():
        axes.plot([], [], " ", label=f"none: {', '.join(quiet)}")
    axes.set_ylim(bottom=0)
    handles, labels = axes.get_legend_handles_labels()
    names = [one.label for one in emulated]
    shown = [
        (handle, text)
        for handle, text in zip(handles, labels, strict=True)
        if not any(text.startswith(name) for name in names)
    ]
    if shown:
        axes.legend(*zip(*shown, strict=True), loc="upper left")
