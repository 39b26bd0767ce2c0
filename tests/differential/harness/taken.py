"""A capture of real traffic and what everybody says of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explained import with_copies
from ours import RST, Analysis, Row, analyse
from peers import Packet, tshark


@dataclass(frozen=True)
class Taken:
    """One capture."""

    file: Path
    ours: Analysis
    tshark: dict[int, Packet]

    def segments(self) -> dict[int, list[Row]]:
        """Our segments of each connection, and what we leave out as captured twice."""
        return with_copies(self.ours, self.tshark)

    def same_connections(self) -> bool:
        """Whether frames are shared out to connections as to tshark's streams.

        A RST to nobody is a segment of no connection here, and a stream, or another's last packet, there.
        """
        strays = [row for row in self.ours.segments if row["connection"] is None]
        if not all(row["flags"] & RST for row in strays):
            return False
        rows = [row for row in self.ours.segments if row["connection"] is not None]
        pairs = {(row["connection"], self.tshark[row["frame"]].stream) for row in rows}
        once = len({mine for mine, _ in pairs}) == len(pairs) == len({theirs for _, theirs in pairs})
        return once and len(pairs) == self.ours.summary["tcp"]["connections"]


@cache
def read(file: Path) -> Taken:
    """Reads it with airperf and tshark."""
    return Taken(file, analyse(file), {packet.frame: packet for packet in tshark(file)})
