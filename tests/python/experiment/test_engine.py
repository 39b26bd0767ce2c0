"""The engine: the same bytes however an experiment was made, whatever goes wrong (faults 1 to 8)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.experiment.lock import LOCK, start_ticks
from airperf.experiment.points import expand
from airperf.experiment.study import load_study
from airperf.testbed import Job, Pool, browser_taking_part

Call = Callable[..., Any]
Files = Callable[[Path], dict[str, bytes]]


def test_results_have_every_row_with_its_interval(call: Call, small: Path, whole: Path) -> None:
    table = pl.read_parquet(whole / "results.parquet")
    assert table.columns[:5] == ["part", "rate", "rate_level", "preamble", "preamble_level"]
    sweep = table.filter(pl.col("part") == "sweep")
    assert sweep.height == 3 * 2 * 2
    assert sweep["rate_level"].unique().sort().to_list() == ["20/s", "40/s", "60/s"]
    assert sweep["n"].min() >= 2  # type: ignore[operator]
    precise = sweep.filter(pl.col("measure") == "response_ms", pl.col("n") < 5)
    assert (precise["half_width"] <= 0.01 * precise["value"]).all()
    knees = table.filter(pl.col("part") == "knee")
    assert knees["preamble_level"].to_list() == ["long", "short"]
    assert knees["n"].to_list() == [2, 2]
    assert knees["value"][0] < knees["value"][1], "a short preamble carries more"
    again = call("experiment", str(small), "--json", "--out", str(whole))
    assert again.json["runs"]["made"] == 0
    assert again.json["results"] == table.to_dicts()
    assert pl.read_csv(whole / "results.csv").height == table.height
    report = (whole / "report.html").read_text()
    assert "An experiment for tests" in report
    assert report.count("<figure") == 2
    again = call("report", str(whole), "--out", str(whole / "again.html"))
    assert again.code == 0
    assert (whole / "again.html").read_text() == report


def test_two_workers_make_the_same_bytes(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files
) -> None:
    assert call("experiment", str(small), "--workers", "2", "--out", str(tmp_path / "two")).code == 0
    assert files_of(tmp_path / "two") == files_of(whole)


def test_shards_that_are_merged_make_the_same_bytes(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files
) -> None:
    parts = [str(tmp_path / f"part{n}") for n in (1, 2, 3)]
    for number, part in enumerate(parts, 1):
        assert call("experiment", str(small), "--shard", f"{number}/3", "--out", part).code == 0
        assert "airperf experiment merge" in Path(part, "report.html").read_text()
    out = tmp_path / "merged"
    less = call("experiment", "merge", *parts[:2], "--out", str(out))
    assert less.code == 3
    assert "none of the folders has it" in less.err
    assert call("experiment", "merge", *parts, "--out", str(out)).code == 0
    assert files_of(out) == files_of(whole)


def test_a_merge_takes_no_other_experiment_and_no_other_engine(
    call: Call, small: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert call("experiment", str(small), "--shard", "1/2", "--out", str(one)).code == 0
    assert call("experiment", str(small), "--shard", "2/2", "--seed", "8", "--out", str(two)).code == 0
    answer = call("experiment", "merge", str(one), str(two), "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert "not the same experiment, scenario and seed" in answer.err
    index = json.loads((one / "study.json").read_text())
    index["engines"]["sim"] = "airperf-0.0.1 build-000000000000"
    (one / "study.json").write_text(json.dumps(index))
    answer = call("experiment", "merge", str(one), "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert "made by airperf-0.0.1" in answer.err
    assert not (tmp_path / "out").exists()


def start(small: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "airperf", "experiment", str(small), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def made(out: Path) -> int:
    return sum(".partial-" not in path.parent.name for path in out.glob("runs/sim/*/manifest.json"))


def wait_for(out: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while made(out) < count:
        assert time.monotonic() < deadline, "the experiment never got going"
        time.sleep(0.002)


@pytest.mark.parametrize("count", [1, 14])
def test_fault_01_an_experiment_killed_in_any_round_resumes_to_the_same_bytes(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files, count: int
) -> None:
    out = tmp_path / "killed"
    process = start(small, out)
    wait_for(out, count)
    process.kill()
    process.communicate()
    assert made(out) < made(whole), "it was killed too late to show anything"
    answer = call("experiment", str(small), "--json", "--out", str(out))
    assert answer.code == 0, answer.err
    assert answer.json["runs"]["reused"] >= count
    assert files_of(out) == files_of(whole)


WORKER = """
import os, signal, sys, time
from airperf.testbed import worker
perform = worker.perform
def bad(job, progress):
    if ["client.rate", "40/s"] in job["overrides"] and job["repetition"] == 1:
        {fault}
    return perform(job, progress)
worker.perform = bad
worker.main()
"""


def with_fault(monkeypatch: pytest.MonkeyPatch, fault: str, budget_s: float | None = None) -> None:
    """Lets workers have a fault at one rate in repetition 1."""
    command = [sys.executable, "-c", WORKER.replace("{fault}", fault)]
    monkeypatch.setattr("airperf.experiment.executor.Pool", lambda workers: Pool(workers, command))
    if budget_s is not None:
        monkeypatch.setattr(
            "airperf.experiment.campaign.Job", lambda **fields: Job(**(fields | {"budget_s": budget_s}))
        )


@pytest.fixture
def fails_alone(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Checks that points with a fault fail, with a message, and no others, and that they are made later."""

    def check(fault: str, message: str, budget_s: float | None = None) -> None:
        out = tmp_path / "out"
        with monkeypatch.context() as patch:
            with_fault(patch, fault, budget_s)
            answer = call("experiment", str(small), "--json", "--out", str(out))
        assert answer.code == 3
        assert all(message in line for line in answer.json["partial"])
        assert {line.partition("/sim/")[2].partition(":")[0] for line in answer.json["partial"]} == {
            f"rate=40,preamble={preamble}/r1" for preamble in ("long", "short")
        }
        others = [
            row for row in answer.json["results"] if row["rate_level"] != "40/s" and row["part"] == "sweep"
        ]
        assert all(row["value"] is not None and not row["note"] for row in others)
        marked = [row for row in answer.json["results"] if row["rate_level"] == "40/s"]
        assert {(row["n"], row["note"]) for row in marked} == {(1, "1 runs are not usable")}
        assert "are not there (done, failed)" not in (out / "report.html").read_text()
        assert call("experiment", str(small), "--out", str(out)).code == 0
        assert files_of(out) == files_of(whole)

    return check


def test_fault_03_a_point_that_kills_its_worker_fails_alone_and_is_made_later(
    fails_alone: Callable[..., None],
) -> None:
    fails_alone("os.kill(os.getpid(), signal.SIGKILL)", "worker ended by SIGKILL, 3 times")


def test_fault_04_a_point_that_hangs_fails_alone_and_is_made_later(fails_alone: Callable[..., None]) -> None:
    fails_alone("time.sleep(60)", "no result after 0.7 s, 3 times", 0.7)


def test_fault_02_a_full_disk_keeps_what_is_there(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        with_fault(patch, 'return {"error": {"kind": "no_space", "why": "No space left: 9000 bytes needed"}}')
        answer = call("experiment", str(small), "--workers", "1", "--json", "--out", str(out))
    assert answer.code == 3
    assert any("9000 bytes needed" in line for line in answer.json["partial"])
    assert 0 < answer.json["runs"]["made"] < 12, "later points are not tried"
    assert call("experiment", str(small), "--out", str(out)).code == 0
    assert files_of(out) == files_of(whole)


def test_fault_05_an_interrupted_experiment_goes_on(
    call: Call, small: Path, tmp_path: Path, whole: Path, files_of: Files
) -> None:
    out = tmp_path / "stopped"
    process = start(small, out)
    wait_for(out, 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert not (out / LOCK).exists()
    assert not list(out.rglob("*.partial-*"))
    assert call("experiment", str(small), "--out", str(out)).code == 0
    assert files_of(out) == files_of(whole)


def test_fault_06_two_experiments_in_one_folder(call: Call, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK).write_text(json.dumps({"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}))
    answer = call("experiment", str(small), "--out", str(out))
    assert answer.code == 2
    assert "is at work in this folder" in answer.err


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("summary.json", "flipped"),
        ("summary.json", "gone"),
        ("manifest.json", "flipped"),
        ("manifest.json", "empty"),
    ],
)
def test_fault_07_a_damaged_point_is_put_aside_and_made_again(
    call: Call, small: Path, whole: Path, files_of: Files, file: str, damage: str
) -> None:
    before = files_of(whole)
    victim = min((whole / "runs" / "sim").iterdir()) / file
    content = victim.read_bytes()
    if damage == "gone":
        victim.unlink()
    elif damage == "empty":
        victim.write_bytes(b"")
    else:
        place = content.index(b'"offered": ') + 11
        victim.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    answer = call("experiment", str(small), "--json", "--out", str(whole))
    assert answer.code == 0, answer.err
    assert answer.json["runs"]["made"] == 1
    assert "put aside" in answer.err
    shutil.rmtree(whole / "quarantine")
    assert files_of(whole) == before


def test_fault_07_points_of_another_engine_are_made_again_and_never_mixed(
    call: Call, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = call("experiment", str(small), "--json", "--out", str(out)).json
    with monkeypatch.context() as patch:
        patch.setattr("airperf.experiment.points.engine_id", lambda _: "airperf-9 build-another")
        other = call("experiment", str(small), "--json", "--out", str(out)).json
    assert other["runs"] == first["runs"], "nothing of the first engine was used"
    assert call("experiment", str(small), "--json", "--out", str(out)).json["runs"]["made"] == 0


def test_fault_07_loads_of_another_browser_are_made_again_and_never_mixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = load_study("pam2004")

    def keys(version: str) -> dict[str, set[str]]:
        browser_taking_part.cache_clear()
        module = sys.modules["airperf.testbed.browse"]  # the name is that of its function, too
        monkeypatch.setattr(module, "browser_version", lambda: version)
        cells, _ = expand(study, ["browser"], quick=True, repetitions=1)
        found: dict[str, set[str]] = {"sim": set(), "emu": set()}
        for cell in cells:
            for testbed in cell.variant.testbeds:
                found[testbed].add(cell.point(testbed, 0, 1).key)
        return found

    try:
        old, new = keys("Chromium 1"), keys("Chromium 2")
    finally:
        browser_taking_part.cache_clear()
    assert old["sim"] == new["sim"]
    assert old["emu"]
    assert not old["emu"] & new["emu"]


def test_fault_08_an_edited_experiment_makes_what_changed_and_keeps_the_rest(
    call: Call, small: Path, whole: Path
) -> None:
    first = json.loads((whole / "study.json").read_text())
    small.write_text(small.read_text().replace("20..60 step 20 /s", "20..80 step 20 /s"))
    answer = call("experiment", str(small), "--json", "--out", str(whole))
    rows = [
        row
        for row in answer.json["results"]
        if row["rate_level"] == "80/s" and row["measure"] == "response_ms"
    ]
    assert answer.json["runs"]["made"] <= sum(row["n"] for row in rows)
    assert answer.json["runs"]["reused"] > 0
    index = json.loads((whole / "study.json").read_text())
    assert index["earlier_sha256"] == [first["study_sha256"]]
    assert first["study_sha256"] in (whole / "report.html").read_text()


def test_streams_are_common_unless_told_otherwise(call: Call, small: Path, tmp_path: Path) -> None:
    text = small.read_text().partition("[repetitions]")[0].replace("[set]", "repetitions = 2\n[set]")
    levels = '\n[[factor]]\nname = "queue"\nkey = "link.queue"\nlevels = [90, 100]\n'

    def values(text: str, name: str) -> list[float]:
        small.write_text(text)
        answer = call("experiment", str(small), "--json", "--out", str(tmp_path / name))
        assert answer.code == 0, answer.err
        return [row["value"] for row in answer.json["results"] if row["measure"] == "response_ms"]

    common = values(text + levels, "common")
    assert common[0] == common[1], (
        "a queue that is never full changes nothing but the streams, which are shared"
    )
    own = values(text.replace("seed = 7", "seed = 7\ncommon_random_numbers = false") + levels, "own")
    assert own[0] != own[1]
    alone = values(
        text.replace("seed = 7", "seed = 7\ncommon_random_numbers = false") + levels.replace("90, ", ""),
        "alone",
    )
    assert alone == own[1:], "a level that is left out moves nobody else's streams"
