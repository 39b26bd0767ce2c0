"""When connections were due, against when their SYNs were on the wire, as somebody else's clock saw them."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Call = Callable[..., Any]

OBSERVER = """
import json, select, socket, struct, sys, threading, time
listener = socket.create_server(("127.0.0.1", 8080), backlog=4096)
def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(4096)
        peer.sendall(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
        peer.close()
threading.Thread(target=serve, daemon=True).start()
air = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
air.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
air.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
air.bind(("lo", 0x0800))
offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
print("ready", flush=True)
first = {}
while air in select.select([air, sys.stdin], [], [])[0]:
    data, told, _, place = air.recvmsg(128, 64)
    header = 14 + (data[14] & 15) * 4
    port, to, sequence = struct.unpack_from(">HHI", data, header)
    if place[2] != 0 or data[23] != 6 or to != 8080 or data[header + 13] & 0x12 != 2:
        continue  # not received (loopback: as soon as sent), not TCP, not to the server, no SYN
    seconds, nanoseconds = struct.unpack("qq", told[0][2])
    first.setdefault((port, sequence), seconds * 10**9 + nanoseconds - offset)
print(json.dumps(sorted(first.values())))
"""

PROCESSES = [("--arrivals=poisson",), ("--arrivals=self-similar", "--hurst=0.8")]


@pytest.mark.parametrize("process", PROCESSES, ids=["poisson", "self-similar"])
def test_syns_leave_when_the_records_say_and_never_before_they_are_due(
    call: Call, namespace: Path, tmp_path: Path, process: tuple[str, ...]
) -> None:
    observe = ["nsenter", f"--net={namespace}", sys.executable, "-c", OBSERVER]
    with subprocess.Popen(observe, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as observer:
        assert observer.stdout
        assert observer.stdout.readline() == "ready\n"
        start_ns = time.monotonic_ns() + 1_500_000_000  # enough to get ready on a busy machine
        words = ("--rate=300", "--duration=2", f"--start-at=@{start_ns}", "--out=o", "--schedule-bound=5s")
        answer = call("load", "http://127.0.0.1:8080/", f"--netns={namespace}", *process, *words)
        out, _ = observer.communicate("\n", timeout=30)
    assert answer.code == 0, answer.err + answer.out
    syns = [at - start_ns for at in json.loads(out)]
    rows = pl.read_parquet(tmp_path / "o" / "connections.parquet").sort("opened_ns")
    assert len(syns) == rows.height > 400
    due, opened = rows["due_ns"].to_list(), rows["opened_ns"].to_list()
    assert due == sorted(due)  # opened in the order in which they were due
    clock = 100_000  # by so much the wall clock may be slewed meanwhile
    assert all(syn >= at - clock for syn, at in zip(syns, due, strict=True))
    apart = [abs(syn - at) for syn, at in zip(syns, opened, strict=True)]
    assert statistics.median(apart) < 1_000_000
