"""Traffic of a capture: over time, by packet size, by time between packets.

Model: means over what one point of a curve covers, with the highest interval inside it as a pale area.
Leaves out marks of events.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from airperf.analysis.intervals import Floats
from airperf.plots import style

TIME = "time since the first packet (s)"


def over_time(table: pl.DataFrame) -> str:
    """SVG of packets/s and Mbit/s of all traffic, a table as ``analysis.capture.traffic.over_time`` gives."""
    with style.look():
        figure = style.figure(4.6)
        upper, lower = figure.subplots(2, 1, sharex=True)
        edges = _edges(table)
        for axes, what, label, colour in (
            (upper, "packets", "packets/s", style.BLUE),
            (lower, "mbps", "Mbit/s", style.VERMILION),
        ):
            axes.set_ylabel(label)
            peak = table[f"peak_{what}"]
            if (peak > table[what] * 1.001).any():
                axes.stairs(peak, edges, fill=True, color=colour, alpha=0.22, linewidth=0, label="peak")
            axes.stairs(
                table[what], edges, baseline=None, color=colour, linewidth=_width(table), label="mean"
            )
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
        lower.set_xlabel(TIME)
        if upper.get_legend_handles_labels()[0][1:]:
            upper.legend(loc="upper right", ncols=2)
        return style.svg(figure, "traffic")


def clients_over_time(tables: Mapping[str, pl.DataFrame]) -> str:
    """SVG with a row for each client: packets/s at the left, Mbit/s at the right, on one scale for all."""
    with style.look():
        figure = style.figure(0.6 + 1.05 * len(tables))
        grid = figure.subplots(len(tables), 2, squeeze=False, sharex=True, sharey="col")
        for row, (client, table) in zip(grid, tables.items(), strict=True):
            edges = _edges(table)
            for axes, what, colour in zip(
                row, ("packets", "mbps"), (style.BLUE, style.VERMILION), strict=True
            ):
                axes.stairs(table[what], edges, fill=True, color=colour, linewidth=0, alpha=0.35)
                axes.stairs(table[what], edges, baseline=None, color=colour, linewidth=_width(table))
                axes.margins(x=0)
            row[0].set_title(client, fontsize=9)
        for axes, what in zip(grid[0], ("packets", "mbps"), strict=True):
            top = max(float(table[what].to_numpy().max()) for table in tables.values())
            axes.set_ylim(0, 1.06 * top or 1.0)
        for axes, label in zip(grid[0], ("packets/s", "Mbit/s"), strict=True):
            axes.set_title(label, loc="right", fontsize=9, fontweight="normal")
        for axes in grid[-1]:
            axes.set_xlabel(TIME)
        return style.svg(figure, "clients")


def _edges(table: pl.DataFrame) -> Floats:
    """Where the intervals of rates begin and, last, end, s: one more than there are rates."""
    middle, half = table["time_s"].to_numpy(), table["length_s"].to_numpy() / 2
    return np.append(middle - half, (middle + half)[-1:] if middle.size else 0.0)


def _width(table: pl.DataFrame) -> float:
    """Width of a curve's line: thinner where points crowd."""
    return 1.4 if table.height < 150 else 0.8


def sizes(table: pl.DataFrame, peaks: pl.DataFrame) -> str:
    """SVG of packet sizes; the tables as ``analysis.capture.traffic`` gives them."""
    with style.look():
        figure = style.figure(3.6)
        left, right = figure.subplots(1, 2)
        style.panel(left, "Share of each size", "IP packet (B)", "share of packets")
        left.vlines(table["bytes"], 0, table["share"], color=style.BLUE, linewidth=1.4)
        top = float(max(table["share"].to_list(), default=1.0))
        for octets, share in peaks.select("bytes", "share").iter_rows():
            left.annotate(
                f"{octets} B",
                (octets, share),
                xytext=(3, 2),
                textcoords="offset points",
                fontsize=8.5,
                color=style.QUIET,
            )
        left.set_ylim(0, 1.12 * top)
        left.yaxis.set_major_formatter(PercentFormatter(1.0))
        style.panel(right, "At or below a size", "IP packet (B)", "share")
        for what, label, line, colour in (
            ("packets", "of packets", "-", style.BLUE),
            ("octets", "of bytes", "--", style.VERMILION),
        ):
            right.plot(table["bytes"], table[what], line, drawstyle="steps-post", color=colour, label=label)
        right.set_ylim(0, 1.02)
        right.yaxis.set_major_formatter(PercentFormatter(1.0))
        right.legend(loc="best")
        for axes in (left, right):
            axes.set_xlim(left=0)
        return style.svg(figure, "sizes")


def gaps(table: pl.DataFrame, mean_ms: float) -> str:
    """SVG of times between packets, with what Poisson arrivals of the same mean would give."""
    with style.look():
        figure = style.figure(3.6)
        left, right = figure.subplots(1, 2)
        style.panel(left, "Distribution", "time between packets (ms)", "shorter")
        style.panel(right, "Tail", "time between packets (ms)", "longer")
        shown = table.filter(pl.col("below_ms") > 0)
        times = shown["below_ms"].to_numpy()
        left.plot(times, shown["shorter"], color=style.BLUE, drawstyle="steps-post", label="captured")
        tail = shown.filter(pl.col("longer") > 0)
        right.plot(tail["below_ms"], tail["longer"], color=style.BLUE, drawstyle="steps-post")
        if times.size > 1:
            grid = np.geomspace(times.min(), times.max(), 200)
            poisson = np.exp(-grid / mean_ms)
            label = f"Poisson of the same mean, {mean_ms:.3g} ms"
            left.plot(grid, 1 - poisson, "--", color=style.QUIET, linewidth=1.1, label=label)
            floor = float(tail["longer"].to_numpy().min()) if tail.height else 0.0
            visible = poisson >= floor
            right.plot(grid[visible], poisson[visible], "--", color=style.QUIET, linewidth=1.1)
        _shares(left)
        style.log_scale(left, "x")
        style.log_scale(right, "x", "y")
        left.legend(loc="best")
        return style.svg(figure, "gaps")


def _shares(axes: Axes) -> None:
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))


AIR = {
    "data": (style.BLUE, ""),
    "retry": (style.VERMILION, ""),
    "control": (style.GREEN, "///"),
    "management": (style.BLACK, ""),
    "noise": (style.YELLOW, "xxx"),
}
"""Colour and hatch of what was on the air, in the order of stacking."""


def airtime_over_time(table: pl.DataFrame) -> str:
    """SVG of the share of time with frames on the air, by kind of frame."""
    with style.look():
        figure = style.figure(2.9)
        axes = figure.subplots()
        style.panel(axes, "Time on the air", TIME, "share of the time")
        times = table["time_s"].unique().sort()
        bottom = np.zeros(len(times))
        wide = pl.DataFrame({"time_s": times})
        step = float(times.diff().drop_nulls().min() or 1.0) if len(times) > 1 else 1.0  # type: ignore[arg-type]
        for what, (colour, hatch) in AIR.items():
            rows = table.filter(pl.col("what") == what)
            if rows.is_empty():
                continue
            share = wide.join(rows, on="time_s", how="left", maintain_order="left")["share"].fill_null(0.0)
            axes.bar(
                times,
                share,
                bottom=bottom,
                width=step,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0,
                label=what,
                rasterized=len(times) > 150,
            )
            bottom += share.to_numpy()
        axes.set_ylim(0, max(1.0, float(bottom.max()) if len(bottom) else 1.0))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.margins(x=0)
        figure.legend(loc="outside upper center", ncols=5)
        return style.svg(figure, "air")
