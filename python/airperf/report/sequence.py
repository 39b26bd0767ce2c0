"""The sequence viewer of a page: its data, its program, and the policy that lets only this program run.

Model: docs/reference/captures.md. The program is ours and fixed; the page's content security policy names
its hash, so that nothing else runs whatever a capture holds. Leaves out what is drawn
(``analysis.capture.sequence``).
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources
from typing import Any

import polars as pl
from markupsafe import Markup

from airperf.analysis.capture import sequence
from airperf.analysis.capture.segments import of_connections
from airperf.report.capture_figures import Tables


@dataclass(frozen=True, slots=True)
class Viewer:
    """What the template puts into the page."""

    connections: list[dict[str, Any]]

    @property
    def program(self) -> Markup:
        """The program's text."""
        return Markup(_program())  # noqa: S704 - our own file, and nothing of a capture in it

    @property
    def hash(self) -> str:
        """The program's hash as a content security policy writes it."""
        digest = hashlib.sha256(_program().encode()).digest()
        return f"sha256-{base64.b64encode(digest).decode()}"


def _program() -> str:
    return (resources.files("airperf.report") / "templates" / "sequence.js").read_text(encoding="utf-8")


def viewer(tables: Tables) -> Viewer | None:
    """The viewer with the connections worth looking at; None where there are none, or no segments."""
    if tables.connections is None or "segments" not in tables.capture.tables:
        return None
    chosen = sequence.choose(tables.connections)
    rows = {
        int(row["connection"]): row
        for row in tables.connections.filter(pl.col("connection").is_in(list(chosen))).iter_rows(named=True)
    }
    sizes = {connection: int(row["segments"]) for connection, row in rows.items()}
    found = of_connections(tables.capture.scan("segments"), sizes, sequence.MOST_SEGMENTS)
    drawn = [
        sequence.drawing(found[connection], tables.origin_ns)
        | {
            "label": f"#{connection}  {_ends(rows[connection])}: {why}",
            "about": _about(rows[connection], len(found[connection])),
            "command": tables.verb(f"sequence --connection {connection}"),
        }
        for connection, why in chosen.items()
        if found[connection]
    ]
    return Viewer(drawn) if drawn else None


def _ends(row: dict[str, Any]) -> str:
    return f"{row['client']} port {row['client_port']} → {row['server']} port {row['server_port']}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _about(row: dict[str, Any], shown: int) -> str:
    retries = row["mac_retries"]
    words = [
        f"began {row['start_s']:.3f} s into the capture and lasted {row['duration_s']:.3f} s",
        f"class {row['class']}",
        f"{row['bytes_up']:,} B up, {row['bytes_down']:,} B down",
        _many(row["segments"], "segment"),
        _many(row["exchanges"], "request"),
        _many(row["retransmissions"], "TCP retransmission"),
    ]
    if retries is not None:
        words.append(_many(retries, "MAC retransmission"))
    if shown < row["segments"]:
        words.append(f"the first {shown:,} segments are drawn")
    return "; ".join(words) + "."
