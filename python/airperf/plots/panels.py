"""The four panels of the study: transactions/s, throughput, response time, errors against the offered rate.

Model: simulation as mean with its 95% interval as a band; emulation as open squares with bars; what was
published as grey bands and lines, drawn only where the text gives a number. Leaves out points read off
printed figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from airperf.plots import style

RATE = "offered rate (connections/s)"
PHASES = ("connect", "send", "reply", "receive", "reset")
PUBLISHED: dict[str, Any] = {"color": "#9aa5b1", "zorder": 1, "solid_capstyle": "butt"}


def four_panels(
    sim: pl.DataFrame, kernel: pl.DataFrame, emu: pl.DataFrame, published: Sequence[Mapping[str, Any]]
) -> str:
    """SVG of the four panels; tables as ``analysis.panels.by_rate`` gives them, any may be empty."""
    with style.look():
        figure = style.figure(8.2)
        grid = figure.subplots(2, 2)
        panels = (
            (grid[0, 0], "carried_rps", "Transactions", "completed (transactions/s)", "transactions"),
            (grid[0, 1], "goodput_mbps", "Throughput", "HTTP responses (Mbit/s)", "throughput"),
            (grid[1, 0], "response_ms", "Response time", "mean, due to done (ms)", "response"),
        )
        for axes, quantity, title, label, topic in panels:
            style.panel(axes, title, RATE, label)
            _simulated(axes, sim, quantity, style.BLUE, "sim, TCP of 2003", "-", "o")
            _simulated(axes, kernel, quantity, style.ORANGE, "sim, TCP of today's kernel", "--", "^")
            _emulated(axes, emu, quantity)
            if topic == "response":
                _whole_transactions(axes, sim)
                if axes.lines:
                    style.log_scale(axes, "y")
            _published(axes, [item for item in published if item["panel"] == topic])
            axes.set_xlim(left=0)
            if topic != "response":
                axes.set_ylim(bottom=0)
        _errors(grid[1, 1], sim, emu)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
        return style.svg(figure, "panels")


def _rows(table: pl.DataFrame, quantity: str) -> pl.DataFrame:
    return table.filter((pl.col("quantity") == quantity) & pl.col("mean").is_not_null()).sort("rate")


def _simulated(
    axes: Axes, table: pl.DataFrame, quantity: str, colour: str, label: str, line: str, marker: str
) -> None:
    rows = _rows(table, quantity)
    if rows.is_empty():
        return
    text = f"{label} (n = {_n(rows)})"
    axes.plot(rows["rate"], rows["mean"], line, marker=marker, color=colour, label=text, zorder=3)
    _band(axes, rows, colour, floor=rows["mean"].min() if quantity == "response_ms" else 0.0)


def _whole_transactions(axes: Axes, sim: pl.DataFrame) -> None:
    """What the paper calls response time: to the end of the FIN handshake."""
    rows = _rows(sim, "transaction_ms")
    if not rows.is_empty():
        (line,) = axes.plot(rows["rate"], rows["mean"], ":", color=style.BLUE, linewidth=1.4, zorder=3)
        axes.legend([line], ["sim, whole transaction with FIN handshake"], loc="upper left")


def _n(rows: pl.DataFrame) -> int:
    """Repetitions behind every point; the smallest number where points differ."""
    return int(min(rows["n"].to_list()))


def _band(axes: Axes, rows: pl.DataFrame, colour: str, floor: Any) -> None:
    """The interval; cut at ``floor``, below which these quantities cannot be."""
    band = rows.drop_nulls(["low", "high"])
    if not band.is_empty():
        low = band["low"].clip(lower_bound=floor)
        axes.fill_between(band["rate"], low, band["high"], color=colour, alpha=0.22, linewidth=0, zorder=2)


def _emulated(axes: Axes, table: pl.DataFrame, quantity: str) -> None:
    rows = _rows(table, quantity)
    if rows.is_empty():
        return
    axes.plot(
        rows["rate"],
        rows["mean"],
        linestyle="none",
        marker="s",
        markersize=8.5,
        markerfacecolor="none",
        markeredgecolor=style.VERMILION,
        markeredgewidth=1.8,
        label=f"emulated: real Apache and httperf (n = {_n(rows)})",
        zorder=5,
    )
    bars = rows.drop_nulls(["low", "high"])
    if not bars.is_empty():
        axes.vlines(
            bars["rate"], bars["low"].clip(lower_bound=0), bars["high"], color=style.VERMILION, zorder=5
        )


def _published(axes: Axes, items: Sequence[Mapping[str, Any]]) -> None:
    label: str | None = "published (text of the paper)"
    for item in items:
        rates, value = [float(rate) for rate in item["rate"]], item["value"]
        values = [float(v) for v in value] if isinstance(value, list) else [float(value)] * 2
        above = item["kind"] == "above"
        axes.plot(
            rates,
            values,
            linewidth=1.2 if above else 6,
            alpha=0.8 if above else 0.55,
            label=label,
            **PUBLISHED,
        )
        if above:
            top = max(values[0] * 3, axes.get_ylim()[1])
            axes.fill_between(
                rates, values[0], top, color=PUBLISHED["color"], alpha=0.22, linewidth=0, zorder=1
            )
        level = item["kind"] == "level"
        place = ((rates[0] + rates[-1]) / 2, values[0]) if level else (rates[-1], values[-1])
        axes.annotate(
            str(item["text"]),
            place,
            xytext=(0, 6) if level else (0, -4) if above else (-10, 4),
            textcoords="offset points",
            ha="center" if level else "right",
            va="top" if above else "bottom",
            fontsize=8.5,
            color=style.QUIET,
        )
        label = None


def _errors(axes: Axes, sim: pl.DataFrame, emu: pl.DataFrame) -> None:
    style.panel(axes, "Errors by phase", RATE, "errors (1/s)")
    quiet = []
    for index, phase in enumerate(PHASES):
        rows = _rows(sim, f"errors_{phase}_per_s")
        if rows.is_empty() or float(rows["mean"].sum()) == 0:
            quiet.append(phase)
            continue
        colour = style.CYCLE[(index + 2) % len(style.CYCLE)]
        axes.plot(
            rows["rate"],
            rows["mean"],
            linestyle=style.LINES[index],
            marker=style.MARKERS[index],
            color=colour,
            label=f"sim: {phase}",
        )
        _band(axes, rows, colour, floor=0.0)
    _emulated(axes, emu, "errors_per_s")
    if quiet and not sim.is_empty():
        axes.plot([], [], " ", label=f"none: {', '.join(quiet)}")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    handles, labels = axes.get_legend_handles_labels()
    shown = [(h, text) for h, text in zip(handles, labels, strict=True) if not text.startswith("emulated")]
    if shown:
        axes.legend(*zip(*shown, strict=True), loc="upper left")
