"""A recorded site in a namespace of its own: names, certificates, both HTTPs, and no way out."""

from __future__ import annotations

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

Har = Callable[..., Path]


pytestmark = [
    pytest.mark.usefixtures("namespaces"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed"),
]


@pytest.fixture
def hosted(
    har: Har, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str, dict[str, Any]]]:
    """Runs a command beside the page of the fixture: what it printed, and what was served."""

    def run(*command: str, options: tuple[str, ...] = ()) -> tuple[str, dict[str, Any]]:
        printed = tmp_path / "printed"
        inside = ["sh", "-c", 'exec "$@" >"$0" 2>&1', str(printed), *command]
        outcome(["host", "--json", *options, str(har()), "--", *inside])
        return printed.read_text(errors="replace"), json.loads(capfd.readouterr().out)

    return run


def curl(*more: str) -> tuple[str, ...]:
    return ("curl", "--silent", "--show-error", "--max-time", "10", *more)


def test_every_origin_answers_under_its_name(
    hosted: Callable[..., Any], picture: bytes, tmp_path: Path
) -> None:
    got = tmp_path / "p.png"
    addresses = "%{http_version} %{http_code} %{remote_ip}\\n"
    text, told = hosted(
        *curl("--compressed", "-w", addresses, "https://www.example.org/"),
        *("--next", "--silent", "-w", addresses, "https://static.example.net/s.css"),
        *("--next", "--silent", "-o", str(got), "https://pictures.example.org:8443/p.png?t=1790000000"),
        *("--next", "--silent", "-w", addresses, "http://plain.example.org:8080/t.txt"),
    )
    assert "<p>Hello." in text, text
    assert "plain1.1 200 10.78.0.5" in text
    assert "2 200 10.78.0.2" in text, "HTTP/2 over TLS, certificate trusted"
    assert "2 200 10.78.0.3" in text
    assert got.read_bytes() == picture, "the picture's query is another one each time"
    counts = told["counts"]
    assert (counts["exact"], counts["similar"], counts["missing"]) == (3, 1, 0)
    assert counts["look_ups"] >= 4
    assert told["status"] == 0


def test_without_http2_it_is_http1(hosted: Callable[..., Any]) -> None:
    text, _ = hosted(
        *curl("-o", "/dev/null", "-w", "%{http_version}", "https://www.example.org/"), options=("--http1",)
    )
    assert text == "1.1"


def test_servers_send_alike_whatever_the_machine_was_told(hosted: Callable[..., Any]) -> None:
    text, _ = hosted("cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    assert text == "reno\n"


def test_nobody_else_can_be_reached(hosted: Callable[..., Any]) -> None:
    script = (
        "curl -sS --max-time 5 https://not-recorded.example/; echo status $?;"
        "curl -sS --max-time 5 http://192.0.2.1/; echo status $?;"
        "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route"
    )
    text, told = hosted("sh", "-c", script)
    assert "status 6" in text, "the name does not exist"
    assert "status 7" in text, "the network is unreachable at once"
    assert [line.strip() for line in text.splitlines()[4:]] == ["lo"], "one interface, no route"
    assert "DNS not-recorded.example" in told["misses"]


def test_what_was_not_recorded_is_named_and_the_status_is_the_commands(hosted: Callable[..., Any]) -> None:
    _, told = hosted(*curl("--fail", "https://www.example.org/none"))
    assert told["misses"] == ["GET https://www.example.org/none"]
    assert told["status"] == 22
    _, told = hosted("no-such-program-here")
    assert told["status"] == 127


def test_the_servers_think_as_long_as_they_did(hosted: Callable[..., Any]) -> None:
    time = curl(
        "-o", "/dev/null", "-w", "%{time_starttransfer} %{time_pretransfer}", "https://www.example.org/"
    )

    def waited(*options: str) -> float:
        first, asked = map(float, hosted(*time, options=options)[0].split())
        return first - asked

    assert waited() >= 0.020
    assert min(waited("--no-think") for _ in range(3)) < 0.020


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_loads_the_page_with_all_it_needs(hosted: Callable[..., Any], tmp_path: Path) -> None:
    flags = ["--headless", "--disable-gpu", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    trust = '--ignore-certificate-errors-spki-list="$AIRPERF_CA_SPKI"'
    script = (
        f"exec timeout 60 chromium {' '.join([*flags, *quiet])} {trust} --dump-dom https://www.example.org/"
    )
    text, told = hosted("sh", "-c", script)
    assert "<title>Recorded</title>" in text, text[-2000:]
    assert told["counts"]["exact"] >= 3, told
    assert not [miss for miss in told["misses"] if "example" in miss and "favicon" not in miss], told[
        "misses"
    ]


def test_it_needs_a_command_or_a_terminal(har: Har, capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(["host", str(har())]) == 2
    assert "airperf host SOURCE -- COMMAND" in capfd.readouterr().err


def test_rewritten_on_loopback(har: Har) -> None:
    words = [sys.executable, "-m", "airperf", "host", "--rewrite", "--json", "--duration", "20s", str(har())]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        places: dict[str, str] = {}
        while len(places) < 4:
            parts = process.stdout.readline().split()
            if len(parts) == 2 and parts[1].startswith("http://127.0.0.1:"):
                places[parts[0]] = parts[1]
        www = places["https://www.example.org"]
        page = subprocess.run(curl(f"{www}/"), capture_output=True, text=True, check=True).stdout
        assert f'href="{places["https://static.example.net"]}/s.css"' in page
        process.terminate()
        assert process.wait(20) == 0
