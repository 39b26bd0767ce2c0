"""Connections and exchanges as Zeek's ``conn.log`` and ``http.log``, as TSV and as NDJSON.

Reference: the log formats of Zeek 6 with its default fields and Community ID. What a table of ours does not
hold is unset, never invented: users, referrers, user agents, files. The ``uid`` is a hash of the Community
ID and the connection's first time stamp, so the same capture gives the same log. Leaves out UDP and every
log but these two.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl

from airperf.records.formats.community import community_id
from airperf.records.formats.text import pieces

Row = Mapping[str, Any]

SERVICES = {"http/1": "http", "http/2": "http2", "tls": "ssl"}
"""Zeek's names of services."""

ENDS = {"id.orig_h": "addr", "id.orig_p": "port", "id.resp_h": "addr", "id.resp_p": "port"}

CONN_FIELDS = {"ts": "time", "uid": "string", **ENDS} | {
    "proto": "enum",
    "service": "string",
    "duration": "interval",
    "orig_bytes": "count",
    "resp_bytes": "count",
    "conn_state": "string",
    "local_orig": "bool",
    "local_resp": "bool",
    "missed_bytes": "count",
    "history": "string",
    "orig_pkts": "count",
    "orig_ip_bytes": "count",
    "resp_pkts": "count",
    "resp_ip_bytes": "count",
    "tunnel_parents": "set[string]",
    "community_id": "string",
}
"""Fields of ``conn.log`` with their types."""

HTTP_FIELDS = {"ts": "time", "uid": "string", **ENDS} | {
    "trans_depth": "count",
    "method": "string",
    "host": "string",
    "uri": "string",
    "referrer": "string",
    "version": "string",
    "user_agent": "string",
    "origin": "string",
    "request_body_len": "count",
    "response_body_len": "count",
    "status_code": "count",
    "status_msg": "string",
    "info_code": "count",
    "info_msg": "string",
    "tags": "set[enum]",
    "username": "string",
    "password": "string",
    "proxied": "set[string]",
    "orig_fuids": "vector[string]",
    "orig_filenames": "vector[string]",
    "orig_mime_types": "vector[string]",
    "resp_fuids": "vector[string]",
    "resp_filenames": "vector[string]",
    "resp_mime_types": "vector[string]",
}
"""Fields of ``http.log`` with their types."""

JOINED = ("client_port", "opened_ns")
"""Columns of a connection that its exchanges need."""


def conn_log(connections: pl.LazyFrame, *, as_json: bool) -> Iterator[str]:
    """``conn.log`` of a capture."""
    return _log("conn", CONN_FIELDS, connections, _conn, as_json=as_json)


def http_log(exchanges: pl.LazyFrame, connections: pl.LazyFrame, *, as_json: bool) -> Iterator[str]:
    """``http.log`` of a capture."""
    joined = exchanges.join(
        connections.select("connection", *JOINED), on="connection", how="left", maintain_order="left"
    )
    return _log("http", HTTP_FIELDS, joined, _http, as_json=as_json)


def uid(row: Row) -> str:
    """The name of a connection in these logs."""
    flow = community_id(row["client"], row["client_port"], row["server"], row["server_port"])
    number = int.from_bytes(hashlib.sha256(f"{flow} {row['opened_ns']}".encode()).digest()[:13])
    digits = ""
    while len(digits) < 17:
        number, place = divmod(number, 62)
        digits += "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[place]
    return "C" + digits


def _conn(row: Row) -> dict[str, Any]:
    return {
        "ts": row["opened_ns"],
        "uid": uid(row),
        **_ends(row),
        "proto": "tcp",
        "service": SERVICES.get(row["application"]),
        "duration": row["last_ns"] - row["opened_ns"],
        "orig_bytes": row["bytes_up"] + row["missing_up"],
        "resp_bytes": row["bytes_down"] + row["missing_down"],
        "conn_state": row["state"],
        "missed_bytes": row["missing_up"] + row["missing_down"],
        "history": row["history"],
        "orig_pkts": row["segments_up"],
        "orig_ip_bytes": row["ip_bytes_up"],
        "resp_pkts": row["segments_down"],
        "resp_ip_bytes": row["ip_bytes_down"],
        "community_id": community_id(row["client"], row["client_port"], row["server"], row["server_port"]),
    }


def _http(row: Row) -> dict[str, Any]:
    starts = (row[name] for name in ("sent_ns", "first_byte_ns", "opened_ns"))
    version = row["version"]
    return {
        "ts": next((time for time in starts if time is not None), None),
        "uid": uid(row),
        **_ends(row),
        "trans_depth": row["index"] + 1,
        "method": row["method"],
        "host": row["host"],
        "uri": row["target"],
        "version": None if version is None else f"1.{version}",
        "response_body_len": row["body_bytes"],
        "status_code": row["status"],
        "tags": [],
        "resp_mime_types": [row["content_type"]] if row["content_type"] else None,
    }


def _ends(row: Row) -> dict[str, Any]:
    return {
        "id.orig_h": row["client"],
        "id.orig_p": row["client_port"],
        "id.resp_h": row["server"],
        "id.resp_p": row["server_port"],
    }


def _log(
    path: str,
    fields: Mapping[str, str],
    table: pl.LazyFrame,
    entry: Callable[[Row], dict[str, Any]],
    *,
    as_json: bool,
) -> Iterator[str]:
    first = last = 0
    for number, piece in enumerate(pieces(table)):
        entries = [entry(row) for row in piece.iter_rows(named=True)]
        times = [item["ts"] for item in entries if item["ts"] is not None]
        if times:
            first, last = (first or times[0]), times[-1]
        if as_json:
            yield "".join(_json_line(item, fields) for item in entries)
            continue
        if number == 0:
            yield _head(path, fields, first)
        yield "".join(
            "\t".join(_field(item.get(name), kind) for name, kind in fields.items()) + "\n"
            for item in entries
        )
    if not as_json:
        # Times of the capture, not of today: the same capture gives the same bytes.
        yield f"#close\t{_clock(last)}\n"


def _head(path: str, fields: Mapping[str, str], time_ns: int) -> str:
    return (
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n"
        f"#path\t{path}\n#open\t{_clock(time_ns)}\n"
        "#fields\t" + "\t".join(fields) + "\n#types\t" + "\t".join(fields.values()) + "\n"
    )


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d-%H-%M-%S")


def _seconds(ns: int) -> str:
    """Nanoseconds as seconds with Zeek's six decimals, exactly."""
    microseconds = ns // 1_000
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{abs(microseconds) // 1_000_000}.{abs(microseconds) % 1_000_000:06d}"


def _field(value: Any, kind: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(_text(item).replace(",", "\\x2c") for item in value) if value else "(empty)"
    if kind in {"time", "interval"}:
        return _seconds(value)
    return _text(str(value))


def _text(value: str) -> str:
    """A text that cannot be taken for an unset or empty field, or end one."""
    if value in {"-", "(empty)"}:
        return f"\\x{ord(value[0]):02x}{value[1:]}"
    return value or "(empty)"


def _json_line(entry: Mapping[str, Any], fields: Mapping[str, str]) -> str:
    """One object; unset fields are absent, as Zeek writes them."""
    values = {}
    for name, kind in fields.items():
        value = entry.get(name)
        if value is not None:
            values[name] = float(_seconds(value)) if kind in {"time", "interval"} else value
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n"
