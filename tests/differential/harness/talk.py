"""What clients do that no load generator does, one function each; run as a program inside a namespace.

Leaves out everything that curl, ab and httperf can do.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Callable

ADDRESS = ("10.77.2.2", 80)
ABORT = struct.pack("ii", 1, 0)
"""SO_LINGER that makes close() send a RST."""


def connect() -> socket.socket:
    """A connection to the server."""
    return socket.create_connection(ADDRESS, timeout=10)


def get(target: str, *, close: bool = False) -> bytes:
    """A request."""
    last = "Connection: close\r\n" if close else ""
    return f"GET {target} HTTP/1.1\r\nHost: test\r\n{last}\r\n".encode()


def read_all(stream: socket.socket) -> int:
    """Reads to the end."""
    total = 0
    while data := stream.recv(65536):
        total += len(data)
    return total


def pipelined() -> None:
    """Ten requests in one go, and again in pieces that cut through heads."""
    wanted = [get(f"/{size}") for size in (0, 1, 700, 1460, 5000, 1, 0, 20000, 300)] + [get("/1", close=True)]
    with connect() as stream:
        stream.sendall(b"".join(wanted))
        read_all(stream)
    with connect() as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        octets = b"".join(wanted)
        for start in range(0, len(octets), 37):
            stream.sendall(octets[start : start + 37])
            time.sleep(0.001)
        read_all(stream)


def aborted() -> None:
    """Ends in the middle of a response: by RST, by FIN, before it began, without a request; then refused."""
    for linger in (True, False):
        with connect() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            if linger:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            stream.sendall(get("/300000"))
            stream.recv(4096)
    with connect() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        stream.sendall(b"GET /1 HTTP/1.1\r\nHo")
        time.sleep(0.02)
    with connect():
        time.sleep(0.02)
    for _ in range(2):
        try:
            socket.create_connection((ADDRESS[0], 81), timeout=5).close()
        except ConnectionRefusedError:
            continue


def half_closed() -> None:
    """Closes its side after the request and reads the response."""
    for size in (1, 40000):
        with connect() as stream:
            stream.sendall(get(f"/{size}", close=True))
            stream.shutdown(socket.SHUT_WR)
            read_all(stream)


def idle() -> None:
    """Asks, lets the server's keep-alive time out, and closes."""
    with connect() as stream:
        stream.sendall(get("/700"))
        read_all(stream)


def slow_reader() -> None:
    """Reads so slowly that its window closes."""
    with socket.socket() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(10)
        stream.connect(ADDRESS)
        stream.sendall(get("/60000", close=True))
        time.sleep(1.2)
        read_all(stream)


def keep_alive() -> None:
    """Sends TCP keep-alives while nothing happens."""
    with connect() as stream:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        stream.sendall(get("/1"))
        stream.recv(4096)
        time.sleep(1.4)
        stream.sendall(get("/1", close=True))
        read_all(stream)


def same_port() -> None:
    """Uses one port again and again."""
    for _ in range(5):
        with socket.socket() as stream:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            stream.settimeout(10)
            stream.bind(("", 45000))
            stream.connect(ADDRESS)
            stream.sendall(get("/700"))
            stream.recv(4096)


TALKS: dict[str, Callable[[], None]] = {
    talk.__name__: talk
    for talk in (
        pipelined,
        aborted,
        half_closed,
        idle,
        slow_reader,
        keep_alive,
        same_port,
    )
}

if __name__ == "__main__":
    TALKS[sys.argv[1]]()
