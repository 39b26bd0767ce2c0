"""What tshark and tcptrace say of a capture, as plain rows.

Both are Debian's programs, run with their defaults but for names and the order of reassembly. Leaves out all
judgement: ``explained`` says what they should say.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from network import need

REPEATS = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
"""tshark's names for a segment that does not advance the sequence number."""
OTHERS = ("keep_alive", "duplicate_ack", "zero_window", "zero_window_probe")
FLAGS = (*REPEATS, *OTHERS)
"""tshark's verdicts that are compared."""

FIELDS = (
    "frame.number",
    "tcp.stream",
    "tcp.flags",
    "tcp.len",
    "tcp.window_size_value",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "ip.id",
    "tcp.checksum",
    "frame.time_epoch",
    "tcp.analysis.initial_rtt",
    "http.request.method",
    "http.response.code",
    *(f"tcp.analysis.{flag}" for flag in FLAGS),
)


@dataclass(frozen=True)
class Packet:
    """One frame as tshark sees it; the fields of TCP are None for anything else."""

    frame: int
    stream: int | None
    flags: int | None
    payload: int | None
    window: int | None
    seq: int | None
    ack: int | None
    identification: int | None
    checksum: int | None
    time_s: float
    initial_rtt_s: float | None
    methods: tuple[str, ...]
    statuses: tuple[int, ...]
    verdicts: frozenset[str]


@dataclass(frozen=True)
class Direction:
    """One direction of one connection as tcptrace counts it."""

    packets: int
    resets: int
    pure_acks: int
    unique_bytes: int
    data_packets: int
    data_bytes: int
    repeated_packets: int
    repeated_bytes: int
    out_of_order: int
    syns: int
    fins: int


@dataclass(frozen=True)
class Traced:
    """One connection of tcptrace, which calls ``a`` who sent the first packet."""

    a: tuple[str, int]
    b: tuple[str, int]
    a2b: Direction
    b2a: Direction


def _run(argv: list[str]) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(argv, capture_output=True, check=False, timeout=120, env=environment)
    return done.stdout.decode(errors="replace")


def tshark(file: Path, *, options: tuple[str, ...] = ()) -> list[Packet]:
    """Every frame of a capture; one that ends in damage gives those before it."""
    need("tshark")
    argv = ["tshark", "-n", "-r", str(file), "-o", "tcp.reassemble_out_of_order:TRUE", *options]
    argv += ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in FIELDS:
        argv += ["-e", field]
    return [_packet(line.split("\t")) for line in _run(argv).splitlines()]


def _packet(cells: list[str]) -> Packet:
    first = [cell.split(",")[0] for cell in cells]
    numbers = (int(cell, 0) if cell else None for cell in first[:9])
    frame, stream, flags, payload, window, seq, ack, identification, checksum = numbers
    assert frame is not None
    return Packet(
        frame=frame,
        stream=stream,
        flags=flags,
        payload=payload,
        window=window,
        seq=seq,
        ack=ack,
        identification=identification,
        checksum=checksum,
        time_s=float(first[9]),
        initial_rtt_s=float(first[10]) if first[10] else None,
        methods=tuple(cells[11].split(",")) if cells[11] else (),
        statuses=tuple(int(status) for status in cells[12].split(",")) if cells[12] else (),
        verdicts=frozenset(flag for flag, cell in zip(FLAGS, cells[13:], strict=True) if cell),
    )


def tcptrace(file: Path) -> list[Traced]:
    """Every connection, in order of its first packet."""
    need("tcptrace")
    lines = [line for line in _run(["tcptrace", "-n", "--csv", "-l", "-r", str(file)]).splitlines() if line]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if not line.startswith("#")]
    head = next((row for row in rows if row[0] == "conn_#"), None)
    if head is None:
        return []
    return [_traced(dict(zip(head, row, strict=True))) for row in rows[rows.index(head) + 1 :]]


def _traced(row: dict[str, str]) -> Traced:
    def direction(way: str) -> Direction:
        syns, fins = row[f"SYN/FIN_pkts_sent_{way}"].split("/")
        numbers = "total_packets resets_sent pure_acks_sent unique_bytes_sent actual_data_pkts"
        numbers += " actual_data_bytes rexmt_data_pkts rexmt_data_bytes outoforder_pkts"
        counts = [int(row[f"{name}_{way}"]) for name in numbers.split()]
        return Direction(*counts, *(int(count) for count in (syns, fins)))

    return Traced(
        a=(row["host_a"], int(row["port_a"])),
        b=(row["host_b"], int(row["port_b"])),
        a2b=direction("a2b"),
        b2a=direction("b2a"),
    )
