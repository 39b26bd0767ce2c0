"""An engine that answers without loading anybody, and a server that answers whatever a test wants."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airperf import _core

SPREAD = {"count": 100, "mean": 2.0, "min": 1.0, "p50": 1.5, "p90": 3.0, "p95": 3.5, "p99": 4.0}
SPREAD |= {"p999": 5.0, "max": 5.0, "stddev": 0.5}
RESULT: dict[str, Any] = {
    "schema": 1,
    "open_loop": True,
    "offered_rps": 10.0,
    "offered_cps": 10.0,
    "opened_cps": 10.0,
    "carried_rps": 10.0,
    "load_s": 10.0,
    "elapsed_s": 10.01,
    "sent": 100,
    "completed": 100,
    "completed_in_time": 100,
    "unfinished": 0,
    "not_sent": 0,
    "errors": dict.fromkeys(("connect", "send", "reply", "receive", "reset", "framing"), 0),
    "causes": {},
    "local": dict.fromkeys(("fd", "file_table", "port", "limit", "other"), 0),
    "connections": {
        "due": 100,
        "opened": 100,
        "established": 100,
        "completed": 100,
        "failed": 0,
        "unfinished": 0,
        "closed_early": 0,
        "most_concurrent": 2,
        "longest_burst": 1,
    },
    **{
        f"{name}_ms": SPREAD
        for name in ("response", "service", "connect", "first_byte", "transfer", "connection")
    },
    "session_ms": None,
    "failed_session_ms": None,
    "schedule_error_us": {"count": 100, "mean": 20.0, "p50": 15.0, "p90": 30.0, "p99": 60.0, "max": 90.0},
    "schedule_bound_us": 10_000.0,
    "generator_limited": False,
    "why": [],
    "bytes": {"sent": 6500, "received": 126_400, "reply_heads": 24_000, "reply_bodies": 102_400},
    "status": {"1xx": 0, "2xx": 100, "3xx": 0, "4xx": 0, "5xx": 0},
    "statuses": {"200": 100},
    "replies_per_connection": {"1": 100},
    "cpu": {"user_s": 0.1, "system_s": 0.2, "share": 0.03},
    "rates": [{"at_s": t, "span_s": 5.0, "replies_per_s": 10.0, "ends_per_s": 10.0} for t in (5.0, 10.0)],
    "warmup_connections": 0,
    "rows_dropped": 0,
    "valid": True,
    "why_invalid": [],
    "interrupted": False,
    "hdr": {"response": "HISTFAAA"},
    "hdr_log": "#[a log]\n",
}

Behaviour = Callable[[dict[str, Any]], dict[str, Any]]


class Engine:
    """What the engine was asked, and what it is to answer."""

    RESULT = RESULT

    def __init__(self) -> None:
        self.plans: list[dict[str, Any]] = []
        self.folders: list[str | None] = []
        self.answer: Behaviour = lambda _: {}
        self.during: Callable[[], None] = lambda: None

    def carries(self, rate_rps: float, limit_rps: float = 1e9) -> None:
        """Answers for a server that carries so much and a generator that offers at most ``limit_rps``."""

        def answer(plan: dict[str, Any]) -> dict[str, Any]:
            rate = plan["arrivals"]["rate_micro"] / 1e6
            due = round(rate * 10)
            limited = rate > limit_rps
            return {
                "offered_rps": rate,
                "offered_cps": rate,
                "carried_rps": min(rate, rate_rps),
                "completed_in_time": min(due, round(rate_rps * 10)),
                "connections": RESULT["connections"] | {"due": due},
                "generator_limited": limited,
                "why": ["too slow"] if limited else [],
            }

        self.answer = answer

    def run_load(self, plan: str, out: str | None, progress: Callable[[str], object]) -> str:
        """In place of ``_core.run_load``."""
        self.plans.append(json.loads(plan))
        self.folders.append(out)
        told = {"elapsed_s": 1.0, "sent": 5, "completed": 4, "errors": 0, "p99_ms": 3.0}
        progress(json.dumps(told))
        result = copy.deepcopy(RESULT)
        result.update(self.answer(self.plans[-1]))
        try:
            self.during()
        except KeyboardInterrupt:
            result["interrupted"] = True
        return json.dumps(result)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine replaced by one that only listens."""
    fake = Engine()
    monkeypatch.setattr(_core, "run_load", fake.run_load, raising=False)
    return fake


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Step = bytes | float | str
Script = Callable[[bytes], list[Step]]


class Server:
    """Answers each request by a script: octets to send, seconds to wait, ``close``, ``reset`` or ``hang``."""

    def __init__(self) -> None:
        self.script: Script = lambda _: [OK]
        self.requests: list[tuple[float, int, bytes]] = []
        self.connections = 0
        self.peers: set[str] = set()
        self.loop = asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"

    def stop(self) -> None:
        """Ends it and every connection."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        starting = asyncio.start_server(self._connection, sock=self.listener)
        server = self.loop.run_until_complete(starting)
        self.loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.peers.add(writer.get_extra_info("peername")[0])
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1])) if length else b""
                self.requests.append((self.loop.time(), number, head + body))
                for step in self.script(head):
                    if isinstance(step, bytes):
                        writer.write(step)
                        await writer.drain()
                    elif isinstance(step, float):
                        await asyncio.sleep(step)
                    elif step == "hang":
                        await reader.read()
                    else:
                        if step == "reset":
                            raw = writer.get_extra_info("socket")
                            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback."""
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def namespace() -> Iterator[Path]:
    """A network namespace of our own, with loopback up."""
    if os.geteuid() != 0:
        pytest.skip("making a network namespace needs root")
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    if process.stdout.readline() != b"up\n":
        process.wait()
        pytest.skip("network namespaces cannot be made here")
    yield Path(f"/proc/{process.pid}/ns/net")
    process.kill()
    process.communicate()
