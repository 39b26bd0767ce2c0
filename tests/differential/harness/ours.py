"""What airperf says of a capture: its summary and tables, as plain rows. Leaves out all judgement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airperf.records.capture import open_capture

FIN, SYN, RST, ACK = 1, 2, 4, 16
Row = dict[str, Any]


@dataclass(frozen=True)
class Analysis:
    """One analysed capture."""

    summary: dict[str, Any]
    connections: dict[int, Row]
    segments: list[Row]
    exchanges: list[Row]

    def by_connection(self) -> dict[int, list[Row]]:
        """Segments of each connection, in order of their frames."""
        found: dict[int, list[Row]] = {number: [] for number in self.connections}
        for segment in self.segments:
            if segment["connection"] is not None:
                found[segment["connection"]].append(segment)
        return found

    def raw_window(self, segment: Row) -> int:
        """The window as in the header."""
        connection = self.connections[segment["connection"]]
        scale = connection["window_scale_up" if segment["up"] else "window_scale_down"]
        window = int(segment["window"])
        return window if segment["flags"] & SYN else window >> (scale or 0)


def analyse(file: Path) -> Analysis:
    """Analyses a capture with the installed airperf."""
    with open_capture(file, tables=("connections", "exchanges", "segments")) as capture:
        return Analysis(
            summary=dict(capture.summary),
            connections={row["connection"]: row for row in capture.connections.to_dicts()},
            segments=capture.segments.to_dicts(),
            exchanges=capture.exchanges.to_dicts(),
        )
