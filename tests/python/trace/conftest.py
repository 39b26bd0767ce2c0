"""Synthetic capture directories whose content is known, and a minimal pcap writer."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import polars as pl
import pytest

SCHEMAS = {
    "connections": (
        "connection:u64 client:str client_port:u16 server:str server_port:u16 first_frame:u64 opened_ns:u64 "
        "established_ns:u64 last_ns:u64 class:str state:str history:str application:str server_name:str "
        "alpn:str exchanges:u32 bytes_up:u64 bytes_down:u64 sent_bytes_up:u64 sent_bytes_down:u64 "
        "ip_bytes_up:u64 ip_bytes_down:u64 missing_up:u64 missing_down:u64 segments_up:u32 segments_down:u32 "
        "data_segments_up:u32 data_segments_down:u32 retransmissions_up:u32 retransmissions_down:u32 "
        "mac_retries_up:u32 mac_retries_down:u32 rtt_mean_ns:u64 mss_up:u16 mss_down:u16 window_scale_up:u8 "
        "window_scale_down:u8"
    ),
    "exchanges": (
        "connection:u64 index:u32 client:str server:str server_port:u16 method:str target:str host:str "
        "version:u8 status:u16 content_type:str sent_ns:u64 asked_ns:u64 first_byte_ns:u64 done_ns:u64 "
        "request_bytes:u64 response_bytes:u64 body_bytes:u64 complete:bool error:str"
    ),
    "segments": (
        "frame:u64 time_ns:u64 connection:u64 up:bool kind:str seq:u64 ack:u64 payload_bytes:u32 "
        "ip_bytes:u32 window:u32 flags:u8 novelty:str spurious:bool duplicate_ack:bool zero_window:bool "
        "window_probe:bool keep_alive:bool sack_from:u64 sack_to:u64 rtt_ns:u64 in_flight:u64 mac_retries:u8"
    ),
    "retransmissions": ("client:str kind:str segments:u64 tcp_retransmissions:u64 mac_retransmissions:u64"),
    "series": (
        "time_ns:u64 length_ns:u64 client:str packets:u64 bytes:u64 payload_bytes:u64 connections:u64 "
        "requests:u64"
    ),
}
TYPES = {"str": pl.String, "bool": pl.Boolean} | {
    "u8": pl.UInt8,
    "u16": pl.UInt16,
    "u32": pl.UInt32,
    "u64": pl.UInt64,
}
START_NS = 1_795_259_207_776_985_123
"""When the synthetic capture begins."""

MS = 1_000_000

Rows = Sequence[dict[str, Any]]


def frame(table: str, rows: Rows) -> pl.DataFrame:
    """Rows as a table, what they leave out null."""
    schema = {name: TYPES[kind] for name, kind in (column.split(":") for column in SCHEMAS[table].split())}
    return pl.DataFrame([dict.fromkeys(schema) | row for row in rows], schema=schema)


def connection(number: int, **changes: Any) -> dict[str, Any]:
    """A whole connection of 10 ms that carried one exchange."""
    opened = START_NS + number * 100 * MS
    row = {
        "connection": number,
        "client": "192.0.2.1",
        "client_port": 1024 + number,
        "server": "192.0.2.2",
        "server_port": 80,
        "first_frame": 1 + 10 * number,
        "opened_ns": opened,
        "established_ns": opened + 2 * MS,
        "last_ns": opened + 10 * MS,
        "class": "syn_fin",
        "state": "SF",
        "history": "ShADadFf",
        "application": "http/1",
        "exchanges": 1,
        "bytes_up": 74,
        "bytes_down": 1283,
        "sent_bytes_up": 74,
        "sent_bytes_down": 2566,
        "ip_bytes_up": 400,
        "ip_bytes_down": 1700,
        "missing_up": 0,
        "missing_down": 0,
        "segments_up": 6,
        "segments_down": 5,
        "data_segments_up": 1,
        "data_segments_down": 2,
        "retransmissions_up": 0,
        "retransmissions_down": 1,
        "rtt_mean_ns": 1_500_000,
        "mss_up": 1460,
        "mss_down": 1460,
    }
    return row | changes


def exchange(number: int, **changes: Any) -> dict[str, Any]:
    """The one exchange of a connection."""
    sent = START_NS + number * 100 * MS + 2 * MS
    row = {
        "connection": number,
        "index": 0,
        "client": "192.0.2.1",
        "server": "192.0.2.2",
        "server_port": 80,
        "method": "GET",
        "target": "/a.html?x=1&y=%C3%A9",
        "host": "example.org",
        "version": 1,
        "status": 200,
        "content_type": "text/html",
        "sent_ns": sent,
        "asked_ns": sent + MS // 2,
        "first_byte_ns": sent + 3 * MS,
        "done_ns": sent + 5 * MS,
        "request_bytes": 74,
        "response_bytes": 1283,
        "body_bytes": 1024,
        "complete": True,
        "error": None,
    }
    return row | changes


def segment(number: int, *, up: bool, **changes: Any) -> dict[str, Any]:
    """A segment of connection 0; ``number`` is its frame, and its millisecond."""
    row = {
        "frame": number,
        "time_ns": START_NS + number * MS,
        "connection": 0,
        "up": up,
        "kind": "ack",
        "seq": 1,
        "ack": 1,
        "payload_bytes": 0,
        "ip_bytes": 40,
        "window": 65535,
        "flags": 16,
        "novelty": "new",
        "spurious": False,
        "duplicate_ack": False,
        "zero_window": False,
        "window_probe": False,
        "keep_alive": False,
    }
    return row | changes


SUMMARY: dict[str, Any] = {
    "packets": 110,
    "bytes": 12_000,
    "duration_s": 1.5,
    "first_ns": START_NS,
    "link_types": {"ethernet": 110},
    "tcp": {
        "segments": 110,
        "connections": 2,
        "syn_fin": 2,
        "syn_rst": 0,
        "syn_no_synack": 0,
        "syn_unfinished": 0,
        "no_syn": 0,
        "resets": 0,
        "retransmitted": 2,
        "retransmission_parts": {"full": 2, "part": 0, "late": 1, "dup_syn": 0, "dup_fin": 0},
        "out_of_order": 1,
        "duplicate_acks": 3,
    },
    "http": {"requests": 2, "responses": 2},
    "mac": None,
    "anomalies": {"short_frame": 4},
    "truncated_at": None,
}


def write_capture(
    folder: Path, tables: dict[str, Rows] | None = None, summary: dict[str, Any] | None = None
) -> Path:
    """Writes a capture directory; without tables, one with two connections."""
    folder.mkdir(parents=True)
    contents: dict[str, Rows] = {
        "connections": [connection(1), connection(0)],
        "exchanges": [exchange(0), exchange(1, status=404, complete=False, error="receive", done_ns=None)],
    }
    contents |= tables or {}
    promises = {}
    for table, rows in contents.items():
        path = folder / f"{table}.parquet"
        frame(table, rows).write_parquet(path)
        data = path.read_bytes()
        promises[path.name] = {
            "rows": len(rows),
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    manifest = {"schema": 1, "kind": "capture", "summary": SUMMARY | (summary or {}), "tables": promises}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


MakeCapture = Callable[..., Path]


@pytest.fixture
def make_capture() -> MakeCapture:
    """Writes synthetic capture directories."""
    return write_capture


@pytest.fixture
def rows() -> dict[str, Callable[..., dict[str, Any]]]:
    """Makes single rows: ``connection``, ``exchange`` and ``segment``."""
    return {"connection": connection, "exchange": exchange, "segment": segment}


@pytest.fixture
def table() -> Callable[[str, Rows], pl.LazyFrame]:
    """Makes a table of rows."""
    return lambda name, rows: frame(name, rows).lazy()


def pcap(packets: Sequence[tuple[float, bytes]], link_type: int = 1) -> bytes:
    """A little-endian microsecond pcap of packets with their times in seconds."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)]
    for time, data in packets:
        seconds, micro = divmod(round(time * 1e6), 1_000_000)
        parts.append(struct.pack("<IIII", seconds, micro, len(data), len(data)) + data)
    return b"".join(parts)


def tcp(
    source: tuple[str, int], destination: tuple[str, int], seq: int, ack: int, flags: int, data: bytes = b""
) -> bytes:
    """An Ethernet frame with an IPv4 TCP segment; checksums are left 0."""
    segment = struct.pack("!HHIIBBHHH", source[1], destination[1], seq, ack, 5 << 4, flags, 65535, 0, 0)
    ends = ip_address(source[0]).packed + ip_address(destination[0]).packed
    length = 20 + len(segment) + len(data)
    header = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, 6, 0) + ends
    return bytes(12) + b"\x08\x00" + header + segment + data


CLIENT, SERVER = ("192.0.2.1", 40000), ("192.0.2.2", 80)


def conversation(
    request: bytes = b"GET /x HTTP/1.1\r\nHost: example.org\r\n\r\n", client: tuple[str, int] = CLIENT
) -> list[bytes]:
    """One exchange on one connection, FIN both ways: ten frames."""
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello"
    up, down = 101 + len(request), 501 + len(response)
    there, back = (client, SERVER), (SERVER, client)
    return [
        tcp(*there, 100, 0, 2),
        tcp(*back, 500, 101, 18),
        tcp(*there, 101, 501, 16),
        tcp(*there, 101, 501, 24, request),
        tcp(*back, 501, up, 16),
        tcp(*back, 501, up, 24, response),
        tcp(*there, up, down, 17),
        tcp(*back, down, up + 1, 17),
        tcp(*there, up + 1, down + 1, 16),
        tcp(*back, 501, up, 24, response),
    ]


@pytest.fixture
def one_segment_pcap() -> bytes:
    """A capture with one conversation."""
    return pcap([(1e9 + n / 1000, frame) for n, frame in enumerate(conversation())])


@pytest.fixture
def make_pcap() -> Callable[..., bytes]:
    """Makes a capture of part of a conversation, or of many conversations."""

    def make(part: slice, times: int = 1) -> bytes:
        one = [(1e9 + n / 1000, frame) for n, frame in enumerate(conversation())][part]
        first = pcap(one)
        return first + first[24:] * (times - 1)

    return make


@pytest.fixture
def two_clients() -> bytes:
    """Two conversations, of two clients, ten seconds apart."""
    first = [(1e9 + n / 1000, frame) for n, frame in enumerate(conversation())]
    other = conversation(client=("192.0.2.3", 40001))
    return pcap(first + [(1e9 + 10 + n / 1000, frame) for n, frame in enumerate(other)])


@pytest.fixture
def evil_pcap() -> bytes:
    """A conversation whose request would drive a terminal."""
    request = b"GET /\x1b]0;owned\x07\x9b2J<script> HTTP/1.1\r\nHost: a\x1b[31m\r\n\r\n"
    return pcap([(1e9 + n / 1000, frame) for n, frame in enumerate(conversation(request))])
