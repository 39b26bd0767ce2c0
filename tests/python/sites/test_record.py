"""Recording through a proxy: a hosted site that is recorded and hosted again is the same."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.cli.program import outcome
from airperf.errors import EnvironmentLacks
from airperf.sites import Recording, open_site, read_proxied, site_of
from airperf.testbed.browser import chromium

Har = Callable[..., Path]
AIRPERF = [sys.executable, "-m", "airperf"]
URLS = [
    "https://www.example.org/",
    "https://static.example.net/s.css",
    "https://pictures.example.org:8443/p.png?t=1700000000",
    "http://plain.example.org:8080/t.txt",
]

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=90)


def objects(folder: Path) -> dict[tuple[str, str], tuple[int, str | None, str]]:
    """Status, body and type of every exchange of a site, by method and URL."""
    form = json.loads((folder / "site.json").read_text())
    found = {}
    for entry in form["entries"]:
        origin = form["origins"][entry["origin"]]
        url = f"{origin['scheme']}://{origin['host']}:{origin['port']}{entry['target']}"
        kind = dict(entry["headers"]).get("content-type", "")
        body = None if entry["body"] is None else (folder / "bodies" / entry["body"]).read_bytes()
        if body and dict(entry["headers"]).get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        found[entry["method"], url] = (entry["status"], body.hex() if body else None, kind)
    return found


@needs_curl
@pytest.mark.usefixtures("namespaces")
def test_a_hosted_site_recorded_is_the_same_site(har: Har, tmp_path: Path) -> None:
    original, recorded = tmp_path / "original", tmp_path / "recorded"
    site_of(har(), original)
    fetch = ["curl", "--silent", "--show-error", "--compressed", "--max-time", "20", "-o", "/dev/null"]
    words = [*fetch, URLS[0]]
    for url in URLS[1:]:
        words += ["--next", *fetch[1:], url]
    record = [*AIRPERF, "record", "--out", str(recorded), "--json", "--", *words]
    done = run(*AIRPERF, "host", str(original), "--", *record)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["exchanges"], told["refused"], told["failed"]) == (4, 0, 0)
    assert objects(recorded) == objects(original)
    again = run(*AIRPERF, "host", "--strict", "--json", str(recorded), "--", *words)
    assert json.loads(again.stdout)["counts"]["exact"] == 4, again.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("namespaces")
def test_a_browser_records_a_page_with_what_it_embeds(har: Har, tmp_path: Path) -> None:
    try:
        chromium()
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    recorded = tmp_path / "recorded"
    record = [*AIRPERF, "record", "--out", str(recorded), "--browse", URLS[0]]
    record += ["--no-sandbox"] if os.geteuid() == 0 else []
    done = run(*AIRPERF, "host", str(har()), "--", *record)
    assert done.returncode == 0, done.stderr
    site = open_site(recorded)
    assert {
        "https://www.example.org",
        "https://static.example.net",
        "https://pictures.example.org:8443",
    } <= set(site.origins)


@needs_curl
def test_nobody_outside_the_lab_is_contacted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["curl", "--silent", "--max-time", "10", "http://192.0.2.1/"]
    assert outcome(["record", "--out", str(out), "--", *words]) == 2
    told = capfd.readouterr()
    assert "192.0.2.1:80 is outside the lab" in told.out, "the client is told"
    assert "1 requests refused" in told.err
    assert not (out / "site.json").exists()


@pytest.mark.parametrize(
    "words", [["record", "--out", "x"], ["record", "--out", "x", "--browse", "u", "--", "v"]]
)
def test_what_to_browse_with_is_said_once(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(words) == 2
    assert "-- COMMAND, or --browse URL" in capfd.readouterr().err


def line(folder: Path, number: int, body: bytes, **more: Any) -> None:
    (folder / str(number)).write_bytes(body)
    told = {
        "method": "GET",
        "url": f"http://a.example/{number}",
        "status": 200,
        "headers": [],
        "body": number,
    }
    with (folder / "exchanges.jsonl").open("a") as file:
        file.write(json.dumps(told | {"wait_ns": 50, "connect_ns": 30} | more) + "\n")


def test_what_the_proxy_wrote_is_cleaned_and_counted(tmp_path: Path) -> None:
    coding = [["content-encoding", "gzip"]]
    line(tmp_path, 0, b"plain", headers=[["set-cookie", "id=secret"]])
    line(tmp_path, 1, gzip.compress(b"packed" * 100), headers=coding)
    line(tmp_path, 2, b"no gzip", headers=coding)
    line(tmp_path, 3, b"brotli", headers=[["content-encoding", "br"]])
    with (tmp_path / "exchanges.jsonl").open("a") as file:
        file.write('{"method": "GE')
    recording = Recording(title="t")
    read_proxied(tmp_path, recording)
    assert [entry["think_ns"] for entry in recording.entries] == [20] * 4
    assert [bool(entry["body"]) for entry in recording.entries] == [True, True, False, False]
    assert recording.notes == {
        "fields with cookies and passwords": 1,
        "bodies whose coding could not be undone": 2,
        "exchanges without a whole response": 1,
    }


def test_a_bomb_in_gzip_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airperf.sites.proxied.MOST_BODY_BYTES", 1_000)
    line(tmp_path, 0, gzip.compress(bytes(1_000_000)), headers=[["content-encoding", "gzip"]])
    recording = Recording(title="t")
    read_proxied(tmp_path, recording)
    assert recording.entries[0]["body"] is None
    assert recording.notes == {"bodies over 1000 octets": 1}
