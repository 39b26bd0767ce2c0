"""``airperf proxy`` as a user starts it: before a server on loopback."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from airperf.cli import program

BODY = b"a" * 70_000


class Handler(BaseHTTPRequestHandler):
    """Serves the same object to everybody."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answers."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_request(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """Address of a running server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """A running proxy and its address."""
    proxy = subprocess.Popen(
        [sys.executable, "-m", "airperf", "proxy", "--listen", "127.0.0.1:0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert proxy.stderr is not None
    said = ""
    while "serving on" not in said:
        said = proxy.stderr.readline()
        assert said, "it says where it serves"
    found = re.search(r"serving on http://([\d.:]+)/", said)
    assert found, said
    return proxy, found[1]


def test_requests_pass_and_ctrl_c_ends_it_with_the_counts(server: str) -> None:
    proxy, address = start(server, "--admit", "adaptive", "--json")
    client = http.client.HTTPConnection(address, timeout=10)
    for _ in range(3):
        client.request("GET", "/")
        assert client.getresponse().read() == BODY
    client.close()
    proxy.send_signal(signal.SIGINT)
    out, _ = proxy.communicate(timeout=20)
    assert proxy.returncode == 0
    said = json.loads(out)
    assert (said["schema"], said["admission"], said["listen"]) == (1, "adaptive", address)
    counts = said["counts"]
    assert (counts["requests"], counts["admitted"], counts["replies"]) == (3, 3, 3)
    assert counts["body_bytes"] == 3 * len(BODY)


def test_it_stops_by_itself_after_its_duration(server: str) -> None:
    proxy, _ = start(server, "--duration", "300ms")
    proxy.communicate(timeout=20)
    assert proxy.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["127.0.0.1:80", "--listen", "0.0.0.0:8080"], "--anyone"),
        (["127.0.0.1:8080", "--listen", "127.0.0.1:8080"], "itself"),
        (["example.org:80"], "numeric address"),
        (["127.0.0.1:80", "--admit", "adaptive", "--target", "5"], "not a length of time"),
        (["127.0.0.1:99999"], "65535"),
    ],
)
def test_what_it_should_not_do_is_refused_before_it_starts(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.outcome(["proxy", *arguments]) == 2
    assert why in capsys.readouterr().err
