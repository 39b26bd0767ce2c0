"""Exchanges of a capture as HAR 1.2, which browsers' developer tools and waterfall viewers open.

Reference: HTTP Archive 1.2. ``connection`` is the number of the connection. A capture's records hold no
header lists, cookies or bodies: those arrays are empty and unknown sizes are -1, as the format wants; nothing
secret can be in such a file but a target. Leaves out exchanges whose request was not captured, and pages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import polars as pl

from airperf.records.formats.text import pieces

Row = Mapping[str, Any]
JOINED = ("client_port", "opened_ns", "established_ns")
UNKNOWN = -1
"""HAR's word for what is not known or does not apply."""


def har(exchanges: pl.LazyFrame, connections: pl.LazyFrame, version: str) -> Iterator[str]:
    """One HAR file; ``version`` is ours."""
    joined = exchanges.filter(pl.col("method").is_not_null() & pl.col("sent_ns").is_not_null()).join(
        connections.select("connection", *JOINED), on="connection", how="left", maintain_order="left"
    )
    creator = {"name": "airperf", "version": version}
    yield f'{{"log": {{"version": "1.2", "creator": {json.dumps(creator)}, "pages": [], "entries": ['
    lead = "\n"
    for piece in pieces(joined):
        for row in piece.iter_rows(named=True):
            yield lead + json.dumps(_entry(row), ensure_ascii=False)
            lead = ",\n"
    yield "\n]}}\n"


def _entry(row: Row) -> dict[str, Any]:
    address = _url(row)
    version = f"HTTP/1.{1 if row['version'] is None else row['version']}"
    # The first exchange of a connection begins with opening it.
    opens = row["index"] == 0 and row["established_ns"] is not None
    timings = {
        "blocked": max(0.0, _between(row["established_ns"], row["sent_ns"])) if opens else UNKNOWN,
        "dns": UNKNOWN,
        "connect": _between(row["opened_ns"], row["established_ns"]) if opens else UNKNOWN,
        "send": max(0.0, _between(row["sent_ns"], row["asked_ns"])),
        "wait": max(0.0, _between(row["asked_ns"], row["first_byte_ns"])),
        "receive": max(0.0, _between(row["first_byte_ns"], row["done_ns"])),
        "ssl": UNKNOWN,
    }
    body = row["body_bytes"]
    header = row["response_bytes"] - body if row["status"] is not None else UNKNOWN
    return {
        "startedDateTime": _instant(row["opened_ns"] if opens else row["sent_ns"]),
        "time": sum(value for value in timings.values() if value > 0),
        "request": {
            "method": row["method"],
            "url": address,
            "httpVersion": version,
            "cookies": [],
            "headers": [{"name": "Host", "value": row["host"]}] if row["host"] else [],
            "queryString": [{"name": name, "value": value} for name, value in _query(address)],
            "headersSize": UNKNOWN,
            "bodySize": UNKNOWN,
        },
        "response": {
            "status": row["status"] or 0,
            "statusText": _phrase(row["status"]),
            "httpVersion": version,
            "cookies": [],
            "headers": [],
            "content": {"size": body, "mimeType": row["content_type"] or "x-unknown"},
            "redirectURL": "",
            "headersSize": header,
            "bodySize": body if row["status"] is not None else UNKNOWN,
        },
        "cache": {},
        "timings": timings,
        "serverIPAddress": row["server"],
        "connection": str(row["connection"]),
    } | ({"comment": f"not complete: {row['error']}"} if row["error"] else {})


def _url(row: Row) -> str:
    target = row["target"] or "/"
    if "://" in target:
        return str(target)
    server, port = row["server"], row["server_port"]
    literal = f"[{server}]" if ":" in server else server
    host = row["host"] or (literal if port == 80 else f"{literal}:{port}")
    return f"http://{host}{target if target.startswith('/') else '/' + target}"


def _query(address: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(address).query, keep_blank_values=True, max_num_fields=1_000)
    except ValueError:
        return []


def _phrase(status: int | None) -> str:
    try:
        return HTTPStatus(status or 0).phrase
    except ValueError:
        return ""


def _between(earlier: int | None, later: int | None) -> float:
    """Milliseconds between two instants, -1 where one was not seen."""
    return UNKNOWN if earlier is None or later is None else (later - earlier) / 1e6


def _instant(time_ns: int) -> str:
    """RFC 3339 with microseconds."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{rest // 1_000:06d}Z"
