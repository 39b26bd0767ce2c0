"""Emulated runs through the command line: records, replay, and leaving nothing behind (faults 1, 5).

Skipped, with the reason, where this machine cannot emulate.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.experiment.lock import start_ticks
from airperf.testbed import lacking

Call = Callable[..., Any]

LACKING = lacking("emu")
pytestmark = pytest.mark.skipif(
    bool(LACKING), reason="cannot emulate here: " + "; ".join(f"{need.name}: {need.why}" for need in LACKING)
)


def arguments(out: str, seconds: int) -> list[str]:
    settings = ["client.rate=20/s", f"duration={seconds}s", "drain=5s", "tcp.profile=linux-6"]
    flags = [word for setting in settings for word in ("--set", setting)]
    return ["run", "bai2006-e1", "--testbed", "emu", *flags, "--out", out, "--json"]


def test_an_emulated_run_is_recorded_replayed_and_reported(call: Call, tmp_path: Path) -> None:
    answer = call(*arguments("out", 3))
    assert answer.code in {0, 3}, answer.err
    value = answer.json
    assert value["valid"] is (answer.code == 0)
    assert bool(value["why_invalid"]) is (answer.code == 3)
    summary = value["summary"]
    assert summary["offered_rps"] == pytest.approx(20, rel=0.05)
    assert summary["carried_rps"] == pytest.approx(20, rel=0.1)
    assert summary["lag_us"].keys() == {"p50", "p99", "max"}
    for name in ("frames.parquet", "air.pcapng", "arrivals.bin", "lag.parquet", "connections.parquet"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    replayed = call("replay", "out", "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.json["identical"] is True
    assert replayed.json["frames"] > 0
    assert call("report", "out").code == answer.code


def test_own_generator_and_proxy_play_their_parts(call: Call, tmp_path: Path) -> None:
    own = ("emu.client_program=airperf-load", "server.admission=concurrent", "client.upload=100B")
    answer = call(*arguments("out", 3), *[word for setting in own for word in ("--set", setting)])
    assert answer.code in {0, 3}, answer.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    counts = manifest["totals"]["counts"]
    assert (counts["connections"], counts["exchanges"], counts["admission_admitted"]) == (60, 60, 60)
    client = manifest["host"]["clients"][0]
    assert (client["program"], client["report"]["replies"]) == ("airperf-load", 60)
    seen = answer.json["summary"]["response_ms"]["mean"]
    told = client["report"]["times"]["response_ms"]
    assert seen <= told < seen + 5, "the program hears of a reply after its last packet, and not long after"
    result = json.loads((tmp_path / "out" / "airperf-load-1.json").read_text())
    assert result["completed"] == 60


def test_a_user_who_thinks_does_not_wait(call: Call, tmp_path: Path) -> None:
    session = ("pages=2", "embedded=2", "think_time=300ms", "requests_per_connection=6", "rate=5/s")
    answer = call(*arguments("out", 3), *[word for key in session for word in ("--set", f"client.{key}")])
    assert answer.code in {0, 3}, answer.err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["totals"]["counts"]["exchanges"] > 60
    seen = answer.json["summary"]["response_ms"]["mean"]
    told = manifest["host"]["clients"][0]["report"]["times"]["response_ms"]
    assert seen <= told < seen + 5, "each request is due when its user, or its page, wants it"


def test_a_classroom_browses_a_real_server_as_a_simulated_one(call: Call, tmp_path: Path) -> None:
    """The users want the same pages of both, as far as both have the time for them."""
    keys = ("client.count=3", "client.think_time=exponential(mean 700ms)", "client.patience=5s")
    ends = ("duration=6s", "drain=3s", "tcp.profile=linux-6", "record.level=analysis")
    pages = {}
    for testbed in ("sim", "emu"):
        words = [word for setting in (*keys, *ends) for word in ("--set", setting)]
        answer = call("run", "classroom", "--testbed", testbed, *words, "--out", testbed, "--json")
        assert answer.code in {0, 3}, answer.err
        table = pl.read_parquet(tmp_path / testbed / "pages.parquet")
        assert table["outcome"].is_in(["complete", "unfinished"]).all()
        pages[testbed] = table.filter(pl.col("outcome") == "complete")
    both = pages["sim"].join(pages["emu"], on=["client", "session", "page"], suffix="_emu")
    assert both.height >= 0.8 * max(table.height for table in pages.values()) > 10
    for column in ("requested", "complete", "cached"):
        assert (both[column] == both[f"{column}_emu"]).all(), column
    # Headers are the server's; some of the replies are small.
    assert (both["response_bytes"] / both["response_bytes_emu"]).is_between(0.9, 1.1).all()
    emu = pages["emu"]
    assert (emu["due_ns"] < emu["first_byte_ns"]).all()
    assert (emu["first_byte_ns"] <= emu["done_ns"]).all()
    manifest = json.loads((tmp_path / "emu" / "manifest.json").read_text())
    told = [json.loads((tmp_path / "emu" / f"airperf-load-{n}.json").read_text()) for n in (1, 2, 3)]
    assert emu.height == sum(client["pages"]["complete"] for client in told)
    answered = sum(client["statuses"].get("200", 0) for client in told)
    assert answered == manifest["totals"]["counts"]["exchanges"], "every object is there"


def start(folder: Path) -> subprocess.Popen[str]:
    """Starts a long emulated run and waits until its programs are at work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "airperf", *arguments("out", 60)],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while len(family(process.pid)) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the run never started its programs"
        time.sleep(0.1)
    time.sleep(1)
    return process


def family(pid: int) -> dict[int, int | None]:
    """All descendants of a process with the time each started."""
    found: dict[int, int | None] = {}
    with contextlib.suppress(OSError):  # it, or a thread of its, ends meanwhile
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, task.read_text().split()):
                found |= {child: start_ticks(child)} | family(child)
    return found


def assert_gone(processes: dict[int, int | None]) -> None:
    deadline = time.monotonic() + 10
    alive = processes
    while alive and time.monotonic() < deadline:
        alive = {
            pid: ticks for pid, ticks in alive.items() if ticks is not None and start_ticks(pid) == ticks
        }
        time.sleep(0.05)
    assert not alive, [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive]


def private_folders(processes: dict[int, int | None]) -> list[str]:
    return [str(path) for pid in processes for path in Path("/tmp").glob(f"airperf-emu-{pid}-*")]  # noqa: S108


def test_fault_05_ctrl_c_ends_an_emulated_run_and_leaves_nothing(tmp_path: Path) -> None:
    process = start(tmp_path)
    processes = family(process.pid)
    assert private_folders(processes), "programs have a folder of their own while they run"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert_gone(processes)
    assert private_folders(processes) == []
    assert list(tmp_path.iterdir()) == []


def test_fault_05_ctrl_c_twice_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    process = start(tmp_path)
    processes = family(process.pid)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert_gone(processes)
    assert list(tmp_path.iterdir()) == []


def test_fault_01_a_killed_emulated_run_leaves_no_process_and_no_record(call: Call, tmp_path: Path) -> None:
    process = start(tmp_path)
    processes = family(process.pid)
    assert len(processes) >= 3
    process.kill()
    process.communicate()
    assert_gone(processes)
    assert not (tmp_path / "out").exists()
    # What a kill leaves on the disk is cleared up by the next start, and by doctor --clean.
    answer = call("doctor", "--json", "--clean")
    assert answer.code == 0
    assert json.loads(answer.out)["schema"] == 1
    assert private_folders(processes) == []
    assert [path.name for path in tmp_path.iterdir()] == []
    assert os.getpid() not in processes
