"""The segments of single connections, ready to be walked through in the order of capture.

Model: the table ``segments`` (docs/reference/capture-records.md). Leaves out what they mean together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

FIN, SYN, RST, ACK = 1, 2, 4, 16
"""Control bits (RFC 9293 §3.1)."""

AGAIN = ("full", "dup_syn", "dup_fin")
"""Novelties that count as retransmissions."""


class Segment(NamedTuple):
    """One row; ``end`` is one past the last sequence number it uses, SYN and FIN included."""

    frame: int
    time_ns: int
    connection: int
    up: bool
    seq: int
    ack: int | None
    payload_bytes: int
    window: int
    flags: int
    novelty: str
    spurious: bool
    duplicate_ack: bool
    zero_window: bool
    window_probe: bool
    keep_alive: bool
    sack_from: int | None
    sack_to: int | None
    rtt_ns: int | None
    in_flight: int | None
    mac_retries: int | None

    @property
    def end(self) -> int:
        """One past the last sequence number used."""
        return self.seq + self.payload_bytes + bool(self.flags & SYN) + bool(self.flags & FIN)

    @property
    def probing(self) -> bool:
        """Whether it only asks for a sign of life or of room."""
        return self.window_probe or self.keep_alive

    @property
    def again(self) -> bool:
        """Whether it is a retransmission."""
        return self.novelty in AGAIN and not self.probing


def of_connections(segments: pl.LazyFrame, sizes: Mapping[int, int], most: int) -> dict[int, list[Segment]]:
    """The first ``most`` segments of each of these connections.

    ``sizes`` says how many segments each has: those with more than ``most`` are read one by one and only so
    far, all others in one pass, so that memory is bounded whatever the capture.
    """
    small = [connection for connection, size in sizes.items() if size <= most]
    words = pl.col("novelty").cast(pl.String)
    rows = segments.with_columns(words).select(Segment._fields)
    parts = [rows.filter(pl.col("connection").is_in(small)).collect(engine="streaming")]
    parts += [
        rows.filter(pl.col("connection") == connection).head(most).collect(engine="streaming")
        for connection, size in sizes.items()
        if size > most
    ]
    found: dict[int, list[Segment]] = {connection: [] for connection in sizes}
    for part in parts:
        for row in part.sort("frame").iter_rows():
            segment = Segment(*row)
            found[segment.connection].append(segment)
    return found
