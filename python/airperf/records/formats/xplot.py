"""One direction of one connection as a time-sequence graph for xplot and jPlot.

Reference: xplot's command language and the marks that tcptrace made customary: arrows are segments (red with
R when all of it was sent before, P in part, O late), green the acknowledgements, yellow the window's edge,
purple what SACK acknowledges. Sequence numbers are relative. Leaves out choosing what to draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from airperf.records.formats.text import pieces

FIN, SYN, RST = 1, 2, 4
MARKS = {"full": ("red", "R"), "dup_syn": ("red", "R"), "dup_fin": ("red", "R")} | {
    "part": ("red", "P"),
    "late": ("pink", "O"),
}
Row = Mapping[str, Any]


def xplot(segments: pl.LazyFrame, title: str, *, up: bool) -> Iterator[str]:
    """The graph of what the client (``up``) or the server sent; ``segments`` are one connection's."""
    yield f"timeval double\ntitle\n{title} (time sequence graph)\nxlabel\ntime\nylabel\nsequence number\n"
    stairs = _Stairs()
    for piece in pieces(segments):
        lines: list[str] = []
        for row in piece.iter_rows(named=True):
            if row["up"] == up:
                lines += _segment(row)
            elif row["ack"] is not None:
                lines += stairs.step(row)
        if lines:
            yield "\n".join(lines) + "\n"
    yield "go\n"


def _segment(row: Row) -> list[str]:
    time, seq = _time(row), row["seq"]
    data = seq + (1 if row["flags"] & SYN else 0)
    end = data + row["payload_bytes"]
    colour, mark = MARKS.get(row["novelty"], ("white", ""))
    lines: list[str] = []
    if row["flags"] & SYN:
        lines += ["orange", f"diamond {time} {seq}", f"atext {time} {data}", "SYN"]
        lines += [f"line {time} {seq} {time} {data}"]
    if row["payload_bytes"] or not row["flags"] & (SYN | FIN | RST):
        lines += [colour, f"darrow {time} {data}", f"uarrow {time} {end}"]
        if row["payload_bytes"]:
            lines.append(f"line {time} {data} {time} {end}")
    if row["flags"] & FIN:
        lines += ["orange", f"box {time} {end}", f"atext {time} {end + 1}", "FIN"]
        lines += [f"line {time} {end} {time} {end + 1}"]
    if row["flags"] & RST:
        lines += ["red", f"atext {time} {end}", "RST"]
    for label, wanted in ((mark, bool(mark)), ("K", row["keep_alive"]), ("Z", row["window_probe"])):
        if wanted:
            lines += [colour, f"atext {time} {end}", label]
    return lines


class _Stairs:
    """Acknowledgements and window edges as lines that step."""

    def __init__(self) -> None:
        self.last: tuple[str, int, int] | None = None

    def step(self, row: Row) -> list[str]:
        time, ack = _time(row), row["ack"]
        edge = ack + row["window"]
        lines: list[str] = []
        if self.last:
            before, low, high = self.last
            lines += ["green", f"line {before} {low} {time} {low}"]
            lines += [f"line {time} {low} {time} {ack}"] if ack != low else [f"dtick {time} {ack}"]
            lines += ["yellow", f"line {before} {high} {time} {high}"]
            lines += [f"line {time} {high} {time} {edge}"] if edge != high else [f"utick {time} {edge}"]
        if row["sack_from"] is not None and row["sack_to"] is not None:
            lines += ["purple", f"line {time} {row['sack_from']} {time} {row['sack_to']}"]
            lines += [f"ltext {time} {row['sack_to']}", "S"]
        if row["zero_window"]:
            lines += ["yellow", f"atext {time} {edge}", "Z"]
        self.last = (time, ack, edge)
        return lines


def _time(row: Row) -> str:
    """Seconds with the six decimals that xplot reads; the nanoseconds below are cut off."""
    microseconds = row["time_ns"] // 1_000
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"
