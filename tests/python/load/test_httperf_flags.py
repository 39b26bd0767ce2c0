"""httperf's command line: what its flags mean, and which are refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.cli.load.echo import echo
from airperf.cli.load.flags import FLAGS, parse_flags, unescaped
from airperf.cli.load.httperf import plan
from airperf.errors import InputError
from airperf.testbed.load import Plan

Call = Callable[..., Any]
MS = 1_000_000
S = 1_000 * MS


def made(*words: str) -> Plan:
    """The plan of a command line on loopback."""
    return plan(parse_flags(["--server=127.0.0.1", *words]))


def test_the_study_s_command_is_the_study_s_workload() -> None:
    got = made(
        *("--port=8080", "--uri=/o", "--rate=100", "--num-conns=3000", "--num-calls=1", "--timeout=5"),
        "--recv-buffer=65536",
    )
    assert (got.target.address, got.target.port, got.paths) == ("127.0.0.1", 8080, ("/o",))
    assert (got.arrivals.process, got.arrivals.rate_micro) == ("deterministic", 100_000_000)
    assert (got.connections, got.requests_per_connection, got.timeout_ns) == (3000, 1, 5 * S)
    assert (got.timeout_rule, got.receive_buffer_bytes, got.send_buffer_bytes) == ("httperf", 65536, 4096)
    assert got.authority == "127.0.0.1"  # httperf's Host header has no port
    assert got.notes == ()


def test_without_a_rate_one_connection_follows_the_other() -> None:
    for words in ((), ("--rate=0",), ("--period=0",), ("--rate=5", "--period=d0")):
        got = made(*words)
        assert (got.rate, got.concurrency, got.connections) == (None, 1, 1)


@pytest.mark.parametrize(
    ("words", "process", "rate"),
    [
        (("--period=0.1",), "deterministic", 10),
        (("--period", "d0.1"), "deterministic", 10),
        (("--period=e0.1",), "poisson", 10),
        (("--rate=5", "--period=e0.1"), "poisson", 10),
        (("--period=e0.1", "--rate=5"), "deterministic", 5),
        (("--ra", "1e2"), "deterministic", 100),
    ],
)
def test_rate_and_period(words: tuple[str, ...], process: str, rate: float) -> None:
    got = made(*words)
    assert (got.arrivals.process, got.rate) == (process, rate)


def test_sessions_are_bursts_with_think_times() -> None:
    got = made("--wsess=10,5,0.25", "--burst-length=2", "--uri=/x", "--rate=3")
    (session,) = got.sessions
    assert [len(burst.requests) for burst in session] == [2, 2, 1]
    assert {burst.think_ns for burst in session} == {250 * MS}
    assert (got.connections, got.rate) == (10, 3)


def test_a_session_log_is_read(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_text("/a\n /b\n\n/c think=1\n")
    got = made(f"--wsesslog=7,0.5,{log}", "--max-piped-calls=3")
    assert [[burst.think_ns for burst in session] for session in got.sessions] == [[500 * MS], [S]]
    assert (got.connections, got.pipeline) == (7, 3)


def test_lists_of_uris(tmp_path: Path) -> None:
    log = tmp_path / "uris"
    log.write_bytes(b"/a\0/b\0/c\0")
    assert made(f"--wlog=y,{log}", "--num-conns=9").paths == ("/a", "/b", "/c")
    stopping = made(f"--wlog=n,{log}", "--num-conns=9", "--num-calls=2")
    assert (stopping.connections, stopping.requests_per_connection) == (1, 2)
    walked = made("--wset=1024,0.5", "--uri=/w", "--num-conns=4", "--num-calls=2", "--client=103/200").paths
    assert walked[:3] == ("/w/0/1/0/3.html", "/w/0/1/0/3.html", "/w/0/1/0/4.html")
    assert len(walked) == 8


def test_headers_and_methods() -> None:
    got = made(r"--add-header=Referer: foo\nAuth: \163ecret\r\n", "--method=HEAD", "--http-version=1.0")
    assert got.headers == (("Referer", "foo"), ("Auth", "secret"))
    assert (got.method, got.http_version) == ("HEAD", "1.0")
    assert made("--no-host-hdr").authority is None
    assert made("--server-name=www").authority == "www"
    assert made("--close-with-reset").close_with_reset
    assert unescaped(r"a\\nb") == r"a\nb"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ssl", "--bogus", "--session-cookie", "--n=3"), ("--ssl", "--bogus", "--session-cookies", "--n")),
        (("--print-reply=header",), ("--print-reply",)),
        (("--debug=1",), ("--debug",)),
        (("-x",), ("-x",)),
        (("--hog=1",), ("--hog",)),
        (("--num-conns",), ("--num-conns",)),
        (("--num-conns=-3",), ("--num-conns",)),
        (("--rate=abc",), ("--rate",)),
        (("--rate=1e999",), ("--rate",)),
        (("--period=u1,2",), ("uniform",)),
        (("--think-timeout=3",), ("--think-timeout",)),
        (("--client=3/2",), ("--client",)),
        (("--add-header=X: 1",), (r"\n",)),
        (("--add-header=X: 1\\r\\n\\r\\n\\n",), ("--header",)),
        (("--method=G T",), ("--method",)),
        (("--http-version=2",), ("--http-version",)),
        (("--wsess=1,2",), ("--wsess",)),
        (("--wsess=1,2,3", "--wsesslog=1,2,x"), ("--wsesslog",)),
        (("--wlog=x",), ("--wlog",)),
        (("--uri=x y",), ("blanks",)),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(words: tuple[str, ...], said: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        made(*words)
    for word in said:
        assert word in str(caught.value)


def test_refusals_exit_2_and_the_rest_is_a_dry_run_away(call: Call) -> None:
    answer = call("load", "httperf", "--ssl", "--ssl-ciphers=x")
    assert answer.code == 2
    assert "--ssl-ciphers" in answer.err
    answer = call("load", "httperf", "--server=192.0.2.1")
    assert answer.code == 2
    assert "--allow-target" in answer.err
    answer = call("load", "httperf", "--server=192.0.2.1", "--allow-target=192.0.2.1", "--dry-run")
    assert answer.code == 0
    assert "vouch" in answer.err
    assert json.loads(answer.out)["plan"]["allow"] == ["192.0.2.1"]
    assert call("load", "httperf", "--help").code == 0


def httperf(*words: str) -> str:
    """The first line of the real httperf, aimed at a port where nobody listens."""
    program = shutil.which("httperf")
    if program is None:
        pytest.skip("httperf is not installed")
    command = [program, "--server=127.0.0.1", "--port=1", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return done.stdout.splitlines()[0]


LINES = [
    (),
    ("--rate=12.5", "--num-conns=3", "--num-calls=2", "--burst-length=2", "--timeout=1.25"),
    ("--period=e0.012345678", "--hog", "--verbose", "--client=1/3", "--method=HEAD", "--server-name=w"),
    ("--period=0.01", "--close-with-reset", "--http-version=1.0", "--max-connections=3", "--max-p=2"),
    ("--send-buffer=999", "--recv-buffer=1000", "--rate=1234567.8"),
    ("--wset=10,0.5", "--num-conns=2", r"--add-header=X: 1\n", "--no-host-hdr", "--uri=/x"),
    ("--http-version=1.1", "--num-conns=012", "--think-timeout=0.5", "--timeout=2"),
]


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_the_first_line_is_httperfs(words: tuple[str, ...]) -> None:
    assert echo(parse_flags(["--server=127.0.0.1", "--port=1", *words])) == httperf(*words)


def test_the_first_line_of_sessions_is_httperfs() -> None:
    real = (Path(__file__).parent / "httperf" / "sessions.txt").read_text().splitlines()[0]
    assert echo(parse_flags(real.split()[1:])) == real
    log = ["--server=127.0.0.1", "--wsesslog=3,0.05,s.log"]
    assert echo(parse_flags(log)).endswith(" --wsesslog=3,0.050,s.log")


def test_every_flag_of_the_real_httperf_is_known() -> None:
    program = shutil.which("httperf")
    if program is None:
        pytest.skip("httperf is not installed")
    usage = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=20, check=False)
    flags = set(re.findall(r"--([a-z-]+)", usage.stdout + usage.stderr))
    assert len(flags) > 30
    assert flags <= {flag.name for flag in FLAGS}
