"""A small recording of four origins, as HAR."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.errors import EnvironmentLacks
from airperf.testbed import lacks_namespaces

PICTURE = bytes(range(256)) * 8
Entry = dict[str, Any]


def entry(url: str, kind: str, body: bytes | None, *, at: int = 0, **more: Any) -> Entry:
    """One exchange of a HAR, started ``at`` ms after the first."""
    content: dict[str, Any] = {"mimeType": kind, "size": len(body or b"")}
    if body is not None and kind.startswith("text/"):
        content["text"] = body.decode()
    elif body is not None:
        content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    response = {"status": 200, "headers": [{"name": "Content-Type", "value": kind}], "content": content}
    return {
        "startedDateTime": f"2026-11-21T10:00:00.{at:03d}Z",
        "request": {"method": "GET", "url": url, "headers": [{"name": "Cookie", "value": "session=secret"}]},
        "response": response | more.pop("response", {}),
        "timings": {"wait": 40, "connect": 30, "ssl": 10},
        **more,
    }


PAGE = b"""<!doctype html><title>Recorded</title><link rel="stylesheet" href="https://static.example.net/s.css">
<img src="https://pictures.example.org:8443/p.png?t=1700000000"><p>Hello."""


def entries() -> list[Entry]:
    """A page, its style sheet and its picture, and a text without TLS, which no page with TLS may embed."""
    cookie = {"name": "Set-Cookie", "value": "id=secret"}
    coding = {"name": "Content-Encoding", "value": "br"}
    page = entry("https://www.example.org/", "text/html", PAGE)
    page["response"]["headers"] += [cookie, coding]
    style = entry("https://static.example.net/s.css", "text/css", b"p { color: #00694d }", at=10)
    picture = entry("https://pictures.example.org:8443/p.png?t=1700000000", "image/png", PICTURE, at=20)
    plain = entry("http://plain.example.org:8080/t.txt", "text/plain", b"plain", at=30)
    return [page, style, picture, plain]


@pytest.fixture
def picture() -> bytes:
    """The picture of the page."""
    return PICTURE


@pytest.fixture
def har(tmp_path: Path) -> Callable[..., Path]:
    """Writes a HAR file of some exchanges (default: the page)."""

    def write(*given: Entry, name: str = "page.har") -> Path:
        path = tmp_path / name
        log = {"version": "1.2", "creator": {}, "entries": list(given) or entries()}
        path.write_text(json.dumps({"log": log}), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Skips, with the reason, where this machine makes no network namespaces."""
    try:
        lacks_namespaces()
    except EnvironmentLacks as error:
        pytest.skip(str(error))


Layer = dict[str, Any]


@pytest.fixture
def in_time() -> Callable[[Callable[[], list[Layer]]], list[Layer]]:
    """Runs a command over links until packets that met nobody took the time stated, up to three times.

    A link that is off on a punctual machine fails; where its own timers were late, or its processors were
    given to others, each time, the test is skipped: the rule and bounds of tests/src/in_time.rs.
    """

    def off(layers: list[Layer]) -> list[float]:
        delays = [layer[way]["delay"] for layer in layers for way in ("down", "up")]
        return [delay["measured"] - delay["stated"] for delay in delays if delay]

    def of_three(run: Callable[[], list[Layer]]) -> list[Layer]:
        why = ""
        for _ in range(3):
            before = _stolen_ms()
            layers = run()
            by, stolen = off(layers), _stolen_ms() - before
            if all(abs(ms) < 1.5 for ms in by):
                return layers
            timers = max(layer["timer_lag_max_us"] for layer in layers)
            why = f"delays off by {by} ms, timers by {timers:.0f} µs, processors away {stolen} ms"
            assert timers > 5_000 or stolen > 50, f"the machine was in time, the link was not: {why}"
        pytest.skip(f"this machine is late, whatever runs on it: {why}")

    return of_three


def _stolen_ms() -> int:
    """How long a virtual machine's processors were given to others; proc_stat(5), "steal"."""
    return 10 * int(Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[8])
