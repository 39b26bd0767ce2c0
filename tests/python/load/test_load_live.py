"""`airperf load` against a live server on loopback, the engine included."""

from __future__ import annotations

import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Call = Callable[..., Any]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Server = Any
LAYOUT = re.compile(r"[0-9.]+")
PATIENT = ("--schedule-bound=5s", "--timeout=20s", "--json")
"""For machines that do other things too: these tests are about what is done, not about how exactly."""


def test_an_open_loop_does_not_wait_for_the_server(call: Call, server: Server) -> None:
    ok = server.script(b"")
    server.script = lambda _: [0.5, *ok]  # one connection after the other would take 25 s
    answer = call("load", server.url, "--rate=50", "--duration=1", *PATIENT)
    assert answer.code == 0, answer.err
    result = answer.json
    assert (result["sent"], result["completed"]) == (50, 50)
    assert result["connections"]["most_concurrent"] >= 20
    assert result["response_ms"]["min"] >= 490
    assert result["response_ms"]["min"] >= result["service_ms"]["min"]
    assert result["carried_rps"] < result["offered_rps"] == 50
    begun = [at for at, _, _ in server.requests]
    assert begun[-1] - begun[0] < 10


def test_requests_on_a_connection_follow_each_other(call: Call, server: Server) -> None:
    ok = server.script(b"")
    server.script = lambda _: [0.1, *ok]
    words = ("--connections=1", "--rate=1", "--requests-per-connection=4")
    result = call("load", server.url, *words, *PATIENT).json
    assert result["completed"] == 4
    assert result["service_ms"]["min"] >= 95
    assert result["connection_ms"]["mean"] >= 390
    assert server.connections == 1


def test_what_is_asked_is_what_arrives(call: Call, server: Server) -> None:
    words = ("--path=/a", "--path=/b", "--body=300", "--header=X-A: b", "--requests-per-connection=2")
    assert call("load", server.url, "--rate=50", "--connections=3", *words, *PATIENT).code == 0
    lines = [request.split(b"\r\n")[0] for _, _, request in server.requests]
    assert sorted(lines) == [b"POST /a HTTP/1.1"] * 3 + [b"POST /b HTTP/1.1"] * 3
    assert all(b"\r\nX-A: b\r\n" in request for _, _, request in server.requests)
    assert all(len(request.split(b"\r\n\r\n")[1]) == 300 for _, _, request in server.requests)
    assert server.connections == 3


SESSIONS = "/page think=0.2\n  /one\n  /two\n/next method=POST contents='hello'\n"


def test_sessions_have_bursts_and_think_times(call: Call, server: Server, tmp_path: Path) -> None:
    (tmp_path / "s.log").write_text(SESSIONS)
    answer = call("load", server.url, "--wsesslog=s.log", "--rate=20", "--connections=2", *PATIENT)
    assert answer.code == 0, answer.err
    assert answer.json["completed"] == 8
    assert answer.json["session_ms"]["min"] >= 200
    for connection in (1, 2):
        own = [(at, request) for at, number, request in server.requests if number == connection]
        paths = [request.split()[1] for _, request in own]
        assert (paths[0], sorted(paths[1:3]), paths[3]) == (b"/page", [b"/one", b"/two"], b"/next")
        assert own[3][0] - own[2][0] > 0.19
        assert own[3][1].startswith(b"POST")
        assert len(own[3][1].split(b"\r\n\r\n")[1]) == 5


def test_clients_keep_their_phase_and_address(call: Call, server: Server, tmp_path: Path) -> None:
    words = ("--source=127.0.0.2", "--source=127.0.0.3", "--offset=0,50ms", "--rate=10", "--connections=5")
    result = call("load", server.url, *words, "--out=o", *PATIENT).json
    assert result["completed"] == 10
    rows = pl.read_parquet(tmp_path / "o" / "exchanges.parquet").sort("due_ns")
    assert rows["client"].to_list() == [0, 1] * 5
    assert rows["due_ns"].diff().drop_nulls().unique().to_list() == [50_000_000]
    assert server.peers == {"127.0.0.2", "127.0.0.3"}


INSIDE = """
import http.server, subprocess
subprocess.run(["ip", "address", "add", "10.99.0.1/32", "dev", "lo"], check=True)
server = http.server.ThreadingHTTPServer(("10.99.0.1", 8080), http.server.SimpleHTTPRequestHandler)
print("ready", flush=True)
server.serve_forever()
"""


def test_a_server_in_a_closed_namespace_is_loaded_from_there(
    call: Call, namespace: Path, tmp_path: Path
) -> None:
    command = ["nsenter", f"--net={namespace}", sys.executable, "-c", INSIDE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        words = ("--rate=50", "--connections=5", *PATIENT)
        answer = call("load", "http://10.99.0.1:8080/", f"--netns={namespace}", *words)
        outside = call("load", "http://10.99.0.1:8080/", *words)
        process.kill()
    assert answer.code == 0, answer.err
    assert (answer.json["completed"], answer.json["status"]["2xx"]) == (5, 5)
    assert outside.code == 2


def test_the_folder_has_a_row_for_every_exchange(call: Call, server: Server, tmp_path: Path) -> None:
    words = ("--rate=100", "--duration=0.5", "--requests-per-connection=2", "--out=o")
    result = call("load", server.url, *words, *PATIENT).json
    exchanges = pl.read_parquet(tmp_path / "o" / "exchanges.parquet")
    connections = pl.read_parquet(tmp_path / "o" / "connections.parquet")
    assert (exchanges.height, connections.height) == (result["sent"], result["connections"]["opened"])
    assert exchanges["outcome"].unique().to_list() == ["completed"]
    response_ms = (exchanges["done_ns"] - exchanges["due_ns"]).cast(pl.Float64) / 1e6
    assert response_ms.mean() == pytest.approx(result["response_ms"]["mean"])
    manifest = json.loads((tmp_path / "o" / "manifest.json").read_text())
    assert manifest["kind"] == "load"
    assert "\nTag=response," in (tmp_path / "o" / "histograms.hlog").read_text()
    again = call("load", server.url, *words)
    assert again.code == 2
    assert "never overwritten" in again.err


def test_a_refused_connection_is_an_error_of_the_connect_phase(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = call("load", f"http://127.0.0.1:{port}/", "--rate=50", "--connections=5", *PATIENT).json
    assert (result["errors"]["connect"], result["causes"]) == (5, {"refused": 5})
    assert result["response_ms"]["mean"] is None


def test_a_sweep_of_a_live_server(call: Call, server: Server) -> None:
    answer = call("load", server.url, "--sweep=20..60 step 20 /s", "--duration=0.5", "--pause=0", *PATIENT)
    assert answer.code == 0, answer.err
    assert [point["completed"] for point in answer.json["points"]] == [10, 20, 30]


def test_ctrl_c_ends_a_live_run_with_what_it_has(server: Server) -> None:
    words = ["load", server.url, "--rate=50", "--duration=60", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "airperf", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while len(server.requests) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["interrupted"]
    assert result["completed"] >= 19
    assert "Traceback" not in err


def test_fault_11_descriptors_that_lack_are_no_errors_of_the_server(airperf: Cli, server: Server) -> None:
    server.script = lambda _: ["hang"]

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    words = ("--rate=200", "--duration=1", "--timeout=2s", "--json")
    answer = airperf("load", server.url, *words, preexec_fn=few, timeout=60)
    assert answer.returncode == 3, answer.stderr
    result = json.loads(answer.stdout)
    assert result["generator_limited"]
    assert result["local"]["fd"] > 100
    assert result["connections"]["opened"] + result["local"]["fd"] == 200
    assert result["response_ms"]["count"] == 0
    assert sum(result["errors"].values()) == result["connections"]["opened"]
    assert "descriptor" in answer.stderr
    assert "ulimit -n" in answer.stderr


def test_fault_12_a_rate_out_of_reach_is_told(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = call("load", f"http://127.0.0.1:{port}/", "--rate=1000000", "--connections=20000")
    assert answer.code == 3
    assert "generator-limited because" in answer.out
    assert "1e+06" in answer.out or "1000000" in answer.out


def test_the_generator_stays_small(server: Server) -> None:
    # Mapped files count as far as they lie in the page cache, which is not the generator's doing.
    code = (
        "import sys; from airperf.cli.program import outcome; outcome(sys.argv[1:]); "
        "status = dict(line.split(':') for line in open('/proc/self/status')); "
        "print(*(int(status[name].split()[0]) for name in ('VmHWM', 'RssFile')), file=sys.stderr)"
    )
    words = ["load", server.url, "--rate=100", "--duration=0.5", "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    peak, files = map(int, done.stderr.split()[-2:])
    assert peak - files < 30_000  # kB; the table libraries alone would be 20 MB more


def shape(text: str) -> list[str]:
    """The lines of a report without their numbers."""
    return [LAYOUT.sub("#", line) for line in text.splitlines()]


HTTPERF = [
    ("--rate=100", "--num-conns=50"),
    ("--rate=100", "--num-conns=20", "--num-calls=3", "--timeout=5", "--close-with-reset"),
    ("--num-conns=20",),
    ("--wsess=5,4,0.1", "--burst-length=2", "--rate=20", "--timeout=5"),
]


@pytest.mark.parametrize("flags", HTTPERF, ids=" ".join)
def test_the_report_is_httperfs_line_by_line(call: Call, server: Server, flags: tuple[str, ...]) -> None:
    program = shutil.which("httperf")
    if program is None:
        pytest.skip("httperf is not installed")
    words = ["--server=127.0.0.1", f"--port={server.port}", "--uri=/o", *flags]
    theirs = subprocess.run([program, *words], capture_output=True, text=True, timeout=30, check=True).stdout
    answer = call("load", "httperf", *words)
    assert answer.code in {0, 3}, answer.err  # 3: this machine did other things too
    assert shape(answer.out) == shape(theirs)
    assert answer.out.splitlines()[0] == theirs.splitlines()[0]
    exact = (
        "Total:",
        "Connection length",
        "Request size",
        "Reply size",
        "Reply status",
        "Errors:",
        "Session:",
    )
    for line in exact:
        mine, real = (re.sub(r"test-duration.*", "", _line(text, line)) for text in (answer.out, theirs))
        assert mine == real
    if "--rate" in flags[0]:
        assert 50 < _number(answer.out, "Connection rate:") < 110


def _line(text: str, start: str) -> str:
    return next((line for line in text.splitlines() if line.startswith(start)), "")


def _number(text: str, start: str) -> float:
    return float(_line(text, start)[len(start) :].split()[0])
