"""Hostile and odd responses: every exchange ends in one class, and nothing hangs (fault 37, client side)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

Call = Callable[..., Any]
Server = Any

CONNECTIONS = 3
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def head(*fields: str, status: str = "200 OK") -> bytes:
    """A response's head."""
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode()


CHUNKED = head("Transfer-Encoding: chunked")
GOOD: dict[str, list[bytes | float | str]] = {
    "chunks_with_extensions_and_trailers": [CHUNKED, b'2;a=b;c="d"\r\nok\r\n0;x\r\nT: 1\r\nU: 2\r\n\r\n'],
    "chunks_cut_anywhere": [*(bytes([octet]) for octet in CHUNKED + b"2\r\nok\r\n0\r\n\r\n")],
    "interim_responses": [head(status="100 Continue"), head("Link: x", status="103 Early Hints"), OK],
    "no_content_with_a_length": [head("Content-Length: 7", status="204 No Content")],
    "not_modified_with_a_length": [head("Content-Length: 7", status="304 Not Modified")],
    "until_the_connection_closes": [b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 5000, "close"],
    "of_http_1_0": [b"HTTP/1.0 200 OK\r\n\r\nok", "close"],
    "bare_line_feeds": [b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"],
    "folded_fields": [head("X: a\r\n b", "Content-Length: 2"), b"ok"],
    "equal_lengths_twice": [head("Content-Length: 2", "Content-Length: 2"), b"ok"],
    "no_reason_phrase": [b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"],
    "an_error_status": [head("Content-Length: 0", status="503 Busy")],
    "slow_but_with_progress": [*(step for octet in OK[-6:] for step in (bytes([octet]), 0.1))],
}
GOOD["slow_but_with_progress"].insert(0, OK[:-6])

BAD: dict[str, tuple[str, list[bytes | float | str]]] = {
    "a_chunk_larger_than_numbers": ("framing", [CHUNKED, b"FFFFFFFFFFFFFFFFFF\r\n", "hang"]),
    "a_negative_chunk": ("framing", [CHUNKED, b"-5\r\nhello\r\n", "hang"]),
    "a_chunk_without_a_size": ("framing", [CHUNKED, b"\r\nhello\r\n", "hang"]),
    "a_chunk_that_does_not_end": ("framing", [CHUNKED, b"2\r\nokXX\r\n", "hang"]),
    "a_huge_chunk_that_never_comes": ("receive", [CHUNKED, b"7fffffffffffffff\r\nx", "hang"]),
    "conflicting_lengths": ("framing", [head("Content-Length: 2", "Content-Length: 3"), b"ok", "hang"]),
    "a_list_of_lengths": ("framing", [head("Content-Length: 2, 3"), b"ok", "hang"]),
    "a_length_and_chunks": (
        "framing",
        [head("Content-Length: 2", "Transfer-Encoding: chunked"), b"2\r\nok\r\n0\r\n\r\n", "hang"],
    ),
    "a_negative_length": ("framing", [head("Content-Length: -2"), b"ok", "hang"]),
    "a_length_in_words": ("framing", [head("Content-Length: two"), b"ok", "hang"]),
    "a_huge_length_that_never_comes": ("receive", [head("Content-Length: 999999999999999999"), b"x", "hang"]),
    "less_than_promised": ("reset", [head("Content-Length: 5"), b"ok", "close"]),
    "no_response": ("reset", ["close"]),
    "a_reset": ("reset", [head("Content-Length: 5"), 0.05, "reset"]),
    "silence": ("reply", ["hang"]),
    "half_a_head": ("receive", [b"HTTP/1.1 200 OK\r\nContent-Le", "hang"]),
    "another_protocol": ("framing", [b"SSH-2.0-OpenSSH_9.2\r\n", "hang"]),
    "http_2": ("framing", [b"HTTP/2 200\r\nContent-Length: 0\r\n\r\n", "hang"]),
    "a_frame_of_http_2": ("framing", [b"\x00\x00\x12\x04" * 8 + b"\r\n", "hang"]),
    "a_record_of_tls": ("framing", [b"\x15\x03\x03\x00\x02\x02\x28\r\n", "hang"]),
    "another_protocol_switched_to": (
        "framing",
        [head("Upgrade: x", status="101 Switching Protocols"), "hang"],
    ),
    "a_status_of_two_digits": ("framing", [head("Content-Length: 0", status="20 OK"), "hang"]),
    "a_line_without_end": ("framing", [b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000, "hang"]),
    "fields_without_end": ("framing", [b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 100_000, "hang"]),
    "interim_responses_without_end": ("framing", [head(status="100 Continue") * 40_000, "hang"]),
    "trailers_without_end": ("framing", [CHUNKED, b"0\r\n" + b"X: a\r\n" * 100_000, "hang"]),
}


def load(call: Call, server: Server, *words: str) -> Any:
    """The result of a few connections, each of two requests, which must not take long."""
    begun = time.monotonic()
    answer = call(
        "load",
        server.url,
        *("--rate=100", f"--connections={CONNECTIONS}", "--requests-per-connection=2"),
        *("--timeout=1s", "--drain=10s", "--schedule-bound=5s", "--json", *words),
    )
    assert time.monotonic() - begun < 10
    assert answer.code == 0, answer.err
    result = answer.json
    ends = result["completed"] + sum(result["errors"].values()) + result["unfinished"]
    assert ends + result["not_sent"] == 2 * CONNECTIONS
    assert result["unfinished"] == 0
    return result


@pytest.mark.parametrize("name", GOOD)
def test_fault_37_client_odd_responses_are_completed(call: Call, server: Server, name: str) -> None:
    server.script = lambda _: GOOD[name]
    result = load(call, server)
    assert sum(result["errors"].values()) == 0, result["causes"]
    reused = name not in {"until_the_connection_closes", "of_http_1_0"}
    assert result["completed"] == (2 if reused else 1) * CONNECTIONS
    assert server.connections == CONNECTIONS


def test_fault_37_client_a_head_request_has_no_body_to_wait_for(call: Call, server: Server) -> None:
    server.script = lambda _: [head("Content-Length: 1000")]
    result = load(call, server, "--method=HEAD")
    assert result["completed"] == 2 * CONNECTIONS
    assert result["bytes"]["reply_bodies"] == 0


@pytest.mark.parametrize("name", BAD)
def test_fault_37_client_hostile_responses_end_in_a_class(call: Call, server: Server, name: str) -> None:
    phase, steps = BAD[name]
    server.script = lambda _: steps
    result = load(call, server)
    assert result["completed"] == 0
    assert {key: count for key, count in result["errors"].items() if count} == {phase: CONNECTIONS}


def test_fault_37_client_more_than_was_asked_for_ends_in_a_class(call: Call, server: Server) -> None:
    server.script = lambda _: [OK * 3, 0.05]
    result = load(call, server)
    assert result["completed"] + result["errors"]["framing"] >= CONNECTIONS
