"""The optimising ``airperf proxy`` as a user starts it: one, two halves, transparent; curl is the browser."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from airperf.cli import program
from airperf.errors import InputError
from airperf.quantities import link_rate_bps

PAGE = b"<!doctype html>" + b"".join(b"<p>text %d <img src=/image/%d>\n" % (n, n) for n in range(6))
HERE = Path(__file__)


def body(path: str) -> bytes:
    """What is at a path."""
    if path.startswith("/image/"):
        return bytes((n * n * int(path[7:] or 1)) >> 3 & 255 for n in range(5_000))
    return PAGE if path == "/page" else f"text of {path}\n".encode() * 2_000


class Handler(BaseHTTPRequestHandler):
    """Serves a small site."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answers."""
        octets = body(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/page" else "text/plain")
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def log_request(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    """Address of a running server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Proxy:
    """A running proxy."""

    def __init__(self, *arguments: str, listen: str = "127.0.0.1:0", **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "airperf", "proxy", "--listen", listen, "--json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | variables,
        )
        assert self.process.stderr is not None
        said = ""
        while "serving on " not in said:
            said = self.process.stderr.readline()
            assert said, "it says where it serves"
        self.address = said.split("serving on ")[1].partition(": ")[0]

    def end(self) -> dict[str, Any]:
        """Stops it; its counts."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0
        counts: dict[str, Any] = json.loads(out)["counts"]
        return counts


def curl(*arguments: str) -> bytes:
    """What curl gets."""
    return subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--max-time", "15", *arguments],
        check=True,
        capture_output=True,
    ).stdout


def load(proxy: Proxy, host: str) -> None:
    """A page with its objects, octet by octet what the server has."""
    for path in ["/page", *(f"/image/{n}" for n in range(6)), "/text"]:
        assert curl("--proxy", f"http://{proxy.address}", f"http://{host}{path}") == body(path)


EVERYTHING = "--compress zstd --cache --delta --push --dns --connections 2".split()


@pytest.mark.parametrize(
    "transport",
    [[], "--tcp adapted --rate 50Mbit/s --rtt 5ms".split(), "--udp --rate 50Mbit/s --rtt 5ms".split()],
    ids=["tcp", "adapted", "udp"],
)
def test_two_halves_with_everything_change_nothing_and_save_most(site: str, transport: list[str]) -> None:
    server = Proxy("--half", "server", "--connect-to", f"www.site.test:80={site}")
    client = Proxy("--half", "client", "--peer", server.address, *EVERYTHING, *transport)
    load(client, "www.site.test")
    load(client, "www.site.test")
    counts, other = client.end(), server.end()
    assert (counts["requests"], counts["failed"], counts["refused"], counts["cut_short"]) == (16, 0, 0, 0)
    assert counts["pushes_used"] == 12
    assert counts["same"] >= 8, "the second load"
    # Of both loads 2 x 70 KB; the images do not compress.
    assert counts["link_received_bytes"] < counts["body_bytes"] / 3
    assert other["look_ups"] == counts["look_ups"] == 0, "the name was given an address"
    assert bool(counts["datagrams_sent"]) == ("--udp" in transport)


def test_one_proxy_passes_requests_and_tunnels_and_reaches_only_the_lab(site: str) -> None:
    proxy = Proxy("--tcp", "adapted", "--rate", "50Mbit/s", "--rtt", "5ms")
    load(proxy, site)
    assert curl("--proxytunnel", "--proxy", f"http://{proxy.address}", f"http://{site}/text") == body("/text")
    with pytest.raises(subprocess.CalledProcessError):
        curl("--proxy", f"http://{proxy.address}", "http://198.51.100.1/")
    counts = proxy.end()
    assert (counts["tunnels"], counts["refused"], counts["replies"]) == (1, 1, 8)


def test_one_proxy_codes_bodies_as_the_browser_takes_them_and_sends_none_that_it_has(site: str) -> None:
    proxy = Proxy("--compress", "zstd", "--cache")
    through = ("--proxy", f"http://{proxy.address}", f"http://{site}/text")
    coded = curl("--header", "Accept-Encoding: gzip", "--include", *through)
    head, _, octets = coded.partition(b"\r\n\r\n")
    assert gzip.decompress(octets) == body("/text")
    tag = next(line[6:] for line in head.splitlines() if line.lower().startswith(b"etag: "))
    again = curl("--header", f"If-None-Match: {tag.decode()}", "--write-out", "%{http_code}", *through)
    assert again == b"304"
    assert curl(*through) == body("/text"), "who names no coding gets none"
    counts = proxy.end()
    assert (counts["compressed"], counts["same"], counts["replies"]) == (1, 1, 3)
    assert counts["compressed_link_bytes"] < counts["compressed_plain_bytes"] / 20


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl for a server's certificate")
def test_who_trusts_its_authority_gets_https_pages_through_it(tmp_path: Path) -> None:
    certificate, key, authority = tmp_path / "certificate", tmp_path / "key", tmp_path / "ca.pem"
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=site -addext".split()
    names = ["subjectAltName=DNS:www.site.test", "-addext", "basicConstraints=critical,CA:FALSE"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = f"www.site.test:443=127.0.0.1:{server.server_address[1]}"
        wanted = ("--compress", "gzip", "--intercept", str(authority), "--connect-to", there)
        proxy = Proxy(*wanted, SSL_CERT_FILE=str(certificate))
        through = ("--proxy", f"http://{proxy.address}", "https://www.site.test/text")
        coded = curl("--cacert", str(authority), "--header", "Accept-Encoding: gzip", *through)
        assert gzip.decompress(coded) == body("/text")
        with pytest.raises(subprocess.CalledProcessError):
            curl(*through)
        counts = proxy.end()
        server.shutdown()
    assert (counts["intercepted"], counts["failed"], counts["compressed"], counts["tunnels"]) == (1, 1, 1, 0)


def in_namespace() -> None:
    """The part of the test of transparent proxies that runs in a network namespace of its own."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with ThreadingHTTPServer(("127.0.0.2", 80), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        alone = Proxy("--mode", "transparent")
        time.sleep(0.5)
        assert curl("http://127.0.0.2/text") == body("/text")
        counts = alone.end()
        assert (counts["requests"], counts["replies"]) == (1, 1), counts
        rules = subprocess.run(["nft", "list", "ruleset"], check=True, capture_output=True, text=True)
        assert "airperf" not in rules.stdout, "the rules have gone with it"
        assert curl("http://127.0.0.2/text") == body("/text")
    boosted()


def boosted() -> None:
    """A browser that knows of no proxy, with a client half that has all names."""
    with ThreadingHTTPServer(("127.0.0.2", 8080), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        far = Proxy("--half", "server", "--connect-to", "www.site.test:80=127.0.0.2:8080")
        near = Proxy("--mode", "transparent", "--half", "client", "--peer", far.address, "--dns", "--cache")
        time.sleep(0.5)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
            resolver.settimeout(5)
            # RFC 1035 §4.1: www.site.test, A, IN; nobody is at this address but the redirection.
            name = b"".join(bytes([len(label)]) + label for label in b"www.site.test".split(b".")) + b"\0"
            resolver.sendto(b"\0\7\1\0\0\1" + bytes(6) + name + b"\0\1\0\1", ("127.0.0.53", 53))
            found = socket.inet_ntoa(resolver.recv(512)[-4:])
        for _ in range(2):
            got = curl("--resolve", f"www.site.test:80:{found}", "http://www.site.test/text")
            assert got == body("/text")
        counts = near.end()
        assert (counts["names_answered"], counts["look_ups"], counts["replies"]) == (1, 0, 2), counts
        assert counts["same"] == 1
        far.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and nftables need root here")
@pytest.mark.skipif(shutil.which("nft") is None, reason="needs nft")
def test_a_transparent_proxy_takes_what_was_meant_for_others_and_leaves_nothing_behind() -> None:
    own = ["unshare", "--net", sys.executable, str(HERE)]
    done = subprocess.run(own, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--half", "client"], "--peer"),
        (["--peer", "127.0.0.1:1"], "--half client"),
        (["--delta"], "client half"),
        (["--half", "server", "--cache"], "client half"),
        (["--half", "server", "--tcp", "adapted"], "client half"),
        (["--half", "client", "--peer", "127.0.0.1:1", "--udp"], "--rate and --rtt"),
        (["--half", "client", "--peer", "127.0.0.1:1", "--fec", "2"], "--udp"),
        (["--rate", "1Mbit/s"], "belong together"),
        (["--intercept", str(HERE)], "already"),
        (["--half", "server", "--intercept", "/nowhere/ca.pem"], "ask it for tunnels"),
        (["--rate", "1Mb", "--rtt", "1s"], "kbit/s"),
        (["--allow", "a b"], "network"),
        (["--connect-to", "a:0=127.0.0.1:80"], "HOST:PORT"),
        (["--admit", "adaptive"], "UPSTREAM"),
        (["127.0.0.1:80", "--cache"], "without UPSTREAM"),
        (["--listen", "0.0.0.0:3128"], "--anyone"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_before_anything_starts(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.outcome(["proxy", *arguments]) == InputError.exit_code
    assert problem in capsys.readouterr().err


def test_the_machines_own_connections_are_not_redirected_without_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airperf.cli.optimise.in_own_namespace", lambda: False)
    assert program.outcome(["proxy", "--mode", "transparent"]) == InputError.exit_code
    assert "--machine" in capsys.readouterr().err


def test_link_rates_are_read_exactly() -> None:
    assert link_rate_bps("39.6kbit/s") == 39_600
    assert link_rate_bps("1 Gbit/s") == 10**9
    for wrong in ("36", "36kb/s", "0bit/s", "0.5bit/s", "-1kbit/s", "1e3bit/s"):
        with pytest.raises(InputError):
            link_rate_bps(wrong)


if __name__ == "__main__":
    in_namespace()
