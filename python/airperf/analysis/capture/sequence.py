"""Which connections are worth a sequence plot, and everything that is drawn and marked on it.

Model: rules printed on the page choose the connections. Marks come from ``recovery``, ``phases`` and the
table itself. Leaves out drawing, which the page's viewer does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from airperf.analysis.capture.connections import WHOLE
from airperf.analysis.capture.phases import delayed_acks, slow_starts
from airperf.analysis.capture.recovery import Retransmission, retransmissions
from airperf.analysis.capture.segments import RST, Segment

MOST_SEGMENTS = 8_000
"""Segments of one connection that a page carries."""

LEAST_SLOW_BYTES = 10_000

NOVELTIES = ("new", "full", "part", "late", "dup_syn", "dup_fin")
CAUSES = ("fast", "recovery", "timeout", "after_timeout", "probe", "unknown")
DUPLICATE, ZERO, PROBE, KEEP_ALIVE, SPURIOUS = 1, 2, 4, 8, 16
"""Bits of a segment's notes on the page."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Connections that pass ``test``, the first ``most`` by ``by`` (greatest first)."""

    why: str
    by: pl.Expr
    test: pl.Expr
    most: int


def rules(typical_bytes: float) -> list[Rule]:
    """The rules, in the order in which the picker shows what they choose."""
    whole = pl.col("class").is_in(WHOLE)
    slow = whole & (pl.col("bytes_down") >= LEAST_SLOW_BYTES) & pl.col("busy_bps").is_not_null()
    return [
        Rule("most TCP retransmissions", pl.col("retransmissions"), pl.col("retransmissions") > 0, 4),
        Rule("most MAC retransmissions", pl.col("mac_retries"), pl.col("mac_retries") > 0, 2),
        Rule("most octets", pl.col("bytes"), pl.col("bytes") > 0, 3),
        Rule("closed windows most often", pl.col("zero_windows"), pl.col("zero_windows") > 0, 2),
        Rule("slowest of 10 kB or more", -pl.col("busy_bps"), slow, 2),
        Rule("longest", pl.col("duration_s"), whole, 2),
        Rule("most requests", pl.col("exchanges"), pl.col("exchanges") > 1, 1),
        Rule("never answered", pl.col("segments"), pl.col("class") == "syn_no_synack", 1),
        Rule("typical size", -(pl.col("bytes") - typical_bytes).abs(), whole & (pl.col("bytes") > 0), 1),
    ]


def choose(table: pl.DataFrame) -> dict[int, str]:
    """The connections to draw, each with why; ``table`` as ``connections.prepare`` gives it."""
    sizes = table.filter(pl.col("class").is_in(WHOLE) & (pl.col("bytes") > 0))["bytes"]
    found: dict[int, list[str]] = {}
    for rule in rules(float(sizes.quantile(0.5, "nearest") or 0)):
        rows = table.filter(rule.test).sort([rule.by, pl.col("connection")], descending=[True, False])
        for connection in rows["connection"].head(rule.most):
            found.setdefault(int(connection), []).append(rule.why)
    return {connection: ", ".join(why) for connection, why in found.items()}


def drawing(segments: Sequence[Segment], origin_ns: int) -> dict[str, Any]:
    """What the viewer draws of one connection; lists by segment, times in ns since the connection began.

    Keys are short since a page has many: ``t`` time since the segment before, ``u`` from the client, ``s``
    sequence number, ``l`` payload, ``a`` acknowledgement (-1 none), ``w`` window, ``f`` control bits, ``n``
    novelty, ``b`` notes, ``q`` frame; and as lists of places with values ``k`` SACK, ``r`` RTT, ``i`` octets
    outstanding, ``x`` MAC retransmissions, ``c`` cause and earlier segment of retransmissions, ``d`` delayed
    acknowledgements; ``g`` slow starts; ``m`` what is listed.
    """
    begin = segments[0].time_ns if segments else origin_ns
    again = retransmissions(segments)
    phases = slow_starts(segments, again)
    delayed = delayed_acks(segments)
    times = [begin, *(segment.time_ns for segment in segments)]
    return {
        "begin": begin - origin_ns,
        "t": [later - earlier for earlier, later in pairwise(times)],
        "u": [int(s.up) for s in segments],
        "s": [s.seq for s in segments],
        "l": [s.payload_bytes for s in segments],
        "a": [-1 if s.ack is None else s.ack for s in segments],
        "w": [s.window for s in segments],
        "f": [s.flags for s in segments],
        "n": [NOVELTIES.index(s.novelty) for s in segments],
        "b": [_notes(s) for s in segments],
        "q": [s.frame for s in segments],
        "k": [
            [i, s.sack_from, s.sack_to]
            for i, s in enumerate(segments)
            if s.sack_from is not None and s.sack_to is not None
        ],
        "r": [[i, s.rtt_ns] for i, s in enumerate(segments) if s.rtt_ns is not None],
        "i": [
            [i, s.in_flight] for i, s in enumerate(segments) if s.in_flight is not None and s.payload_bytes
        ],
        "x": [[i, s.mac_retries] for i, s in enumerate(segments) if s.mac_retries],
        "c": [[r.place, CAUSES.index(r.cause), -1 if r.before is None else r.before] for r in again],
        "d": delayed,
        "g": [[int(p.up), p.from_ns - begin, p.to_ns - begin, p.rounds] for p in phases],
        "m": marks(segments, again, delayed),
    }


def _notes(segment: Segment) -> int:
    return (
        segment.duplicate_ack * DUPLICATE
        | segment.zero_window * ZERO
        | segment.window_probe * PROBE
        | segment.keep_alive * KEEP_ALIVE
        | segment.spurious * SPURIOUS
    )


def marks(
    segments: Sequence[Segment], again: Sequence[Retransmission], delayed: Sequence[int]
) -> list[list[Any]]:
    """What happened, in order: place, kind and a number (time waited in ns, or how many).

    Kinds are the causes of retransmissions, ``late``, ``part``, ``duplicate_acks`` (runs of them),
    ``zero_window``, ``window_probe``, ``keep_alive``, ``reset`` and ``delayed_ack``.
    """
    found: list[list[Any]] = [[r.place, r.cause, r.waited_ns or 0] for r in again]
    found += [[place, "delayed_ack", segments[place].rtt_ns or 0] for place in delayed]
    runs: dict[bool, list[Any] | None] = {True: None, False: None}
    closed = {True: False, False: False}
    for place, segment in enumerate(segments):
        if segment.novelty in ("late", "part"):
            found.append([place, segment.novelty, segment.payload_bytes])
        for kind in ("window_probe", "keep_alive"):
            if getattr(segment, kind):
                found.append([place, kind, 1])
        if segment.flags & RST:
            found.append([place, "reset", 1])
        if segment.zero_window and not closed[segment.up]:
            found.append([place, "zero_window", 1])
        closed[segment.up] = segment.zero_window
        run = runs[segment.up]
        if segment.duplicate_ack and run:
            run[2] += 1
        elif segment.duplicate_ack:
            runs[segment.up] = [place, "duplicate_acks", 1]
            found.append(runs[segment.up] or [])
        elif segment.ack is not None:
            runs[segment.up] = None
    return sorted(found, key=lambda mark: int(mark[0]))
