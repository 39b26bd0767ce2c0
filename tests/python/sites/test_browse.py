"""Page loads: from the browser's events to times, and a real browser beside a hosted site."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.analysis import browsing
from airperf.cli.browse import _failed
from airperf.cli.program import outcome
from airperf.scenario import installed

Har = Callable[..., Path]
InTime = Callable[[Callable[[], list[dict[str, Any]]]], list[dict[str, Any]]]

real = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
AS_ROOT = ["--no-sandbox"] if os.geteuid() == 0 else []
"""What Chromium wants to be told by root, and by nobody else."""


def request(identity: str, url: str, at: float, **more: object) -> browsing.Event:
    told = {
        "requestId": identity,
        "request": {"url": url, "method": "GET"},
        "timestamp": at,
        "wallTime": 1e9 + at,
    }
    return {"method": "Network.requestWillBeSent", "params": told | {"type": "Document"} | more}


def response(identity: str, **timing: float) -> browsing.Event:
    answer = {"status": 200, "protocol": "h2", "remoteIPAddress": "10.78.0.2", "timing": timing}
    return {"method": "Network.responseReceived", "params": {"requestId": identity, "response": answer}}


def finished(identity: str, at: float, size: int) -> browsing.Event:
    told = {"requestId": identity, "timestamp": at, "encodedDataLength": size}
    return {"method": "Network.loadingFinished", "params": told}


EVENTS = [
    request("1", "https://www.example.org/", 100.0),
    response(
        "1",
        requestTime=100.001,
        dnsStart=1,
        dnsEnd=11,
        connectStart=11,
        connectEnd=71,
        sslStart=31,
        sslEnd=71,
        sendEnd=72,
        receiveHeadersEnd=112,
    ),
    finished("1", 100.150, 2_048),
    request("2", "data:image/png;base64,x", 100.151),
    request("3", "https://www.example.org/gone", 100.160),
    {
        "method": "Network.loadingFailed",
        "params": {"requestId": "3", "timestamp": 100.2, "errorText": "net::ERR"},
    },
    {"method": "Page.loadEventFired", "params": {"timestamp": 100.250}},
]


def test_the_events_of_a_load_become_rows_and_times() -> None:
    page = browsing.page(EVENTS, {"first-contentful-paint": 130.0, "domContentLoaded": 160.0}, complete=True)
    assert page.load_ms == pytest.approx(250)
    assert (page.dom_ms, page.paint_ms, page.bytes) == (160.0, 130.0, 2_048)
    first, second = page.requests.to_dicts()
    assert first["dns_ms"] == pytest.approx(10)
    assert first["connect_ms"] == pytest.approx(20), "the handshake of TCP, without that of TLS"
    assert first["tls_ms"] == pytest.approx(40)
    assert (first["sent_ms"], first["first_byte_ms"]) == (pytest.approx(73), pytest.approx(113))
    assert first["end_ms"] == pytest.approx(150)
    assert (second["error"], second["status"]) == ("net::ERR", None)


def test_a_redirect_is_a_request_of_its_own() -> None:
    answer = {"status": 301, "timing": None}
    again = request("1", "https://www.example.org/new", 100.05, redirectResponse=answer)
    rows = browsing.page([EVENTS[0], again, finished("1", 100.1, 10)], {}, complete=True).requests.to_dicts()
    assert [(row["url"][-4:], row["status"]) for row in rows] == [("org/", 301), ("/new", None)]
    assert rows[0]["end_ms"] == pytest.approx(50)


def test_a_load_that_was_not_complete_is_in_no_mean() -> None:
    whole = browsing.page(EVENTS, {}, complete=True)
    part = browsing.page(EVENTS[:3], {}, complete=False)
    sums = browsing.loads([whole, whole, part])
    assert (sums.load_ms.n, sums.incomplete) == (2, 1)
    assert sums.variation == 0


def test_a_page_that_did_not_come_is_not_complete() -> None:
    failed = {"requestId": "1", "timestamp": 100.1, "errorText": "net::ERR_NAME_NOT_RESOLVED"}
    events = [EVENTS[0], {"method": "Network.loadingFailed", "params": failed}, EVENTS[-1]]
    assert browsing.page(events, {}, complete=True).load_ms is None


def test_requests_that_failed_are_told_beside_the_load_time() -> None:
    failures = [event for event in EVENTS if event["method"] == "Network.loadingFailed"]
    page = browsing.page(EVENTS, {}, complete=True)
    whole = browsing.page([event for event in EVENTS if event not in failures], {}, complete=True)
    assert (page.failed, whole.failed) == (1, 0)
    [note] = _failed([page, whole, page])
    assert note.startswith("Requests failed in 2 of 3 loads, which look shorter")
    assert note.endswith("than they are: net::ERR (2).")
    assert not _failed([whole])


def test_the_har_has_the_times_of_the_rows() -> None:
    log = browsing.har(browsing.page(EVENTS, {}, complete=True), "1")["log"]
    timings = log["entries"][0]["timings"]
    assert timings["connect"] == pytest.approx(60), "HAR counts TLS into it"
    assert timings["ssl"] == pytest.approx(40)
    total = sum(timings[key] for key in ("blocked", "dns", "connect", "send", "wait", "receive"))
    assert total == pytest.approx(log["entries"][0]["time"])
    assert log["pages"][0]["pageTimings"]["onLoad"] == pytest.approx(250)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://www.example.org/", "is outside the lab: load it from a recording with --site"),
        ("file:///etc/passwd", "write http://… or https://…"),
        ("http://[::1", "is no URL"),
    ],
)
def test_pages_outside_the_lab_are_refused(url: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(["browse", url]) == 2
    assert message in capfd.readouterr().err


def test_over_a_link_loopback_is_not_this_machine(capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(["browse", "http://127.0.0.1:8000/", "--net", "gprs"]) == 2
    assert "AIRPERF_OUTSIDE" in capfd.readouterr().err


def test_a_proxy_is_asked_in_the_network_that_is_here(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["browse", "http://127.0.0.1:8000/", "--net", "gprs", "--proxy", "127.0.0.1:3128"]
    assert outcome(words) == 2
    assert "inside airperf host or shell" in capfd.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("namespaces")
@real
def test_a_page_is_loaded_over_a_link_that_is_checked(
    har: Har, tmp_path: Path, capfd: pytest.CaptureFixture[str], in_time: InTime
) -> None:
    out = tmp_path / "out"
    words = ["browse", "https://www.example.org/", "--site", str(har()), "--net", "slow-4g", "--json"]
    words += ["-n", "2", "--pause", "1", "--no-think", "--out", str(out)]
    words += AS_ROOT

    def loaded() -> list[dict[str, Any]]:
        shutil.rmtree(out, ignore_errors=True)
        code = outcome(words)
        if code == 4:
            pytest.skip("no emulated link can be made here")
        told = json.loads(capfd.readouterr().out)
        assert told["load_ms"]["n"] == 2
        # Four round trips of 150 ms (look-up, TCP, TLS, exchange) for the page, and four for what it embeds.
        assert told["load_ms"]["mean"] > 1_200
        assert (code == 3) == bool(told["link"]["why_invalid"]), told["notes"]
        layers: list[dict[str, Any]] = told["link"]["layers"]
        return layers

    [link] = in_time(loaded)
    assert link["name"] == "slow-4g"
    assert link["down"]["delay"]["stated"] > 75
    page = (out / "report.html").read_text()
    assert "Links between browser and servers" in page
    assert "one-way delay" in page


@pytest.mark.slow
@pytest.mark.usefixtures("namespaces")
@real
def test_a_page_of_three_origins_is_loaded_and_reported(
    har: Har, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["browse", "https://www.example.org/", "--site", str(har()), "-n", "2", "--filmstrip", "--json"]
    words += AS_ROOT
    code = outcome([*words, "--out", str(out)])
    told = json.loads(capfd.readouterr().out)
    assert code == 0
    assert told["load_ms"]["n"] == 2
    assert told["site"]["exact"] >= 6, "each load is cold: nothing is in a cache"
    har_log = json.loads((out / "load-1.har").read_text())["log"]
    urls = [entry["request"]["url"] for entry in har_log["entries"]]
    assert "https://static.example.net/s.css" in urls
    assert {entry["response"]["httpVersion"] for entry in har_log["entries"][:3]} == {"h2"}
    assert (out / "load-2.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text()
    assert "Filmstrip" in page
    assert "http://" not in page.replace("http://www.w3.org/", "")


@pytest.mark.conform
@pytest.mark.usefixtures("namespaces")
@real
@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_ten_loads_of_a_page_of_six_hosts_are_alike(
    protocol: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.toml"
    text = (installed("scenarios") / "pages" / "pam2004-cnn.toml").read_text()
    page.write_text(text.replace("tls = false", "tls = true"))
    words = ["browse", "https://www.cnn.example/", "--site", str(page), "--net", "slow-4g", "--json"]
    words += ["-n", "10", *(["--http1"] if protocol == "HTTP/1.1" else [])]
    words += AS_ROOT

    def load(attempt: int) -> dict[str, Any]:
        outcome([*words, "--out", str(tmp_path / f"out{attempt}")])
        told: dict[str, Any] = json.loads(capfd.readouterr().out)
        return told

    valid = (told for told in map(load, range(3)) if not told["link"]["why_invalid"])
    told = next(valid, None)
    if told is None:
        pytest.skip("this machine was too busy for a valid run in three")
    assert told["load_ms"]["n"] == 10
    ours = told["variation"]
    with capfd.disabled():
        what = f"ten loads of 67 objects on 6 hosts over slow-4g, {protocol}, coefficient of variation"
        sys.stdout.write(f"| {what} | {ours:.1%} | 0% | {ours:+.1%} | 3% |\n")
    assert ours < 0.03
