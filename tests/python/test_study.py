"""Studies: cached, resumable, the same bytes however they were made (faults 1, 2, 5, 6, 7, 8)."""

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

import pytest

from airperf.experiment.lock import LOCK, start_ticks
from airperf.testbed import Pool

Call = Callable[..., Any]
Files = Callable[[Path], dict[str, bytes]]
SIM = ("--testbed", "sim", "--json")


def test_a_study_answers_in_the_shape_of_the_contract(call: Call, tiny: Path, tmp_path: Path) -> None:
    answer = call("study", str(tiny), *SIM, "--only", "E1", "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    value = answer.json
    assert value["schema"] == 1
    assert [row["id"] for row in value["rows"]] == ["E1.knee", "E1.duration", "E1.packets"]
    for row in value["rows"]:
        keys = {"id", "what", "unit", "published", "tolerance", "ours", "low", "high", "n", "within"}
        assert keys <= row.keys()
    knee, duration, packets = value["rows"]
    assert (knee["ours"], knee["n"], knee["within"]) == (40, 2, True)
    assert duration["within"] is False, "a row that misses is no error"
    assert packets["published"] is None
    assert packets["within"] is None
    assert Path(value["report"]).is_file()
    assert value["runs"] == {"made": 8, "reused": 0}


def test_results_are_the_same_bytes_for_any_number_of_workers(
    call: Call, tiny: Path, tmp_path: Path, files_of: Files
) -> None:
    for jobs in ("1", "2", "3"):
        assert call("study", str(tiny), *SIM, "--jobs", jobs, "--out", str(tmp_path / jobs)).code == 0
    one = files_of(tmp_path / "1")
    assert len([name for name in one if name.endswith("manifest.json")]) == 8
    assert one == files_of(tmp_path / "2")
    assert one == files_of(tmp_path / "3")


def test_repetitions_differ_and_seeds_matter(call: Call, tiny: Path, tmp_path: Path) -> None:
    assert call("study", str(tiny), *SIM, "--out", str(tmp_path / "a")).code == 0
    assert call("study", str(tiny), *SIM, "--seed", "8", "--out", str(tmp_path / "b")).code == 0

    def durations(folder: Path) -> list[bytes]:
        found = sorted((folder / "runs" / "sim").glob("rate-10-*"))
        return [(run / "connections.parquet").read_bytes() for run in found]

    every = durations(tmp_path / "a") + durations(tmp_path / "b")
    assert len(every) == 4
    assert len(set(every)) == 4


def test_a_second_time_everything_is_reused(call: Call, tiny: Path, tmp_path: Path) -> None:
    arguments = ("study", str(tiny), *SIM, "--out", str(tmp_path / "out"))
    assert call(*arguments).json["runs"] == {"made": 8, "reused": 0}
    before = call(*arguments)
    assert before.json["runs"] == {"made": 0, "reused": 8}
    more = call(*arguments, "--repetitions", "3")
    assert more.json["runs"] == {"made": 4, "reused": 8}


def start(tiny: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "airperf",
        "study",
        str(tiny),
        *SIM,
        "--repetitions",
        "20",
        "--out",
        str(out),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def whole_runs(out: Path) -> int:
    """Runs that have their name; one that is being written has another."""
    manifests = out.glob("runs/sim/*/manifest.json")
    return sum(".partial-" not in manifest.parent.name for manifest in manifests)


def wait_for_runs(out: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while whole_runs(out) < count:
        assert time.monotonic() < deadline, "the study never got going"
        time.sleep(0.005)


def finish(tiny: Path, out: Path, call: Call) -> Any:
    return call("study", str(tiny), *SIM, "--repetitions", "20", "--out", str(out))


def test_fault_01_a_killed_campaign_resumes_to_the_same_bytes(
    call: Call, tiny: Path, tmp_path: Path, files_of: Files
) -> None:
    out = tmp_path / "killed"
    process = start(tiny, out)
    wait_for_runs(out, 5)
    process.kill()
    process.communicate()
    made = whole_runs(out)
    assert made < 80, "it was killed too late to show anything"
    answer = finish(tiny, out, call)
    assert answer.code == 0, answer.err
    assert "took over the lock" in answer.err
    reused = answer.json["runs"]["reused"]
    assert made <= reused < 80  # a worker may finish its point while it is dying
    assert not list(out.rglob("*.partial-*"))
    whole = tmp_path / "whole"
    assert finish(tiny, whole, call).code == 0
    assert files_of(out) == files_of(whole)


def test_fault_05_ctrl_c_keeps_what_is_finished_and_resumes(
    call: Call, tiny: Path, tmp_path: Path, files_of: Files
) -> None:
    out = tmp_path / "stopped"
    process = start(tiny, out)
    wait_for_runs(out, 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"the same command goes on from there" in err
    assert b"Traceback" not in err
    assert not list(out.rglob("*.partial-*"))
    assert not (out / LOCK).exists()
    states = {point["state"] for point in json.loads((out / "study.json").read_text())["points"]}
    assert states == {"done", "pending"}
    assert finish(tiny, out, call).json["runs"]["reused"] >= 5
    whole = tmp_path / "whole"
    assert finish(tiny, whole, call).code == 0
    assert files_of(out) == files_of(whole)


def test_fault_06_a_second_campaign_in_the_folder_is_refused(call: Call, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK).write_text(json.dumps({"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}))
    answer = call("study", str(tiny), *SIM, "--out", str(out))
    assert answer.code == 2
    assert f"process {os.getpid()} is at work in this folder" in answer.err
    assert not (out / "runs").exists()


def test_fault_07_a_damaged_run_is_put_aside_and_made_again(
    call: Call, tiny: Path, tmp_path: Path, files_of: Files
) -> None:
    out = tmp_path / "out"
    arguments = ("study", str(tiny), *SIM, "--out", str(out))
    assert call(*arguments).code == 0
    before = files_of(out / "runs")
    victim = min((out / "runs" / "sim").iterdir()) / "connections.parquet"
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    shown = call("report", str(out))
    assert shown.code == 3, "a damaged run is left out of the report, and that is said"
    assert "connections.parquet: checksum" in shown.err
    answer = call(*arguments)
    assert answer.code == 0
    assert answer.json["runs"] == {"made": 1, "reused": 7}
    assert "put aside" in answer.err
    assert files_of(out / "runs") == before
    assert len(list((out / "quarantine").rglob("manifest.json"))) == 1


def test_fault_08_an_edited_study_makes_new_points_and_keeps_the_old(
    call: Call, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = ("study", str(tiny), *SIM, "--out", str(out))
    assert call(*arguments).code == 0
    old = {path.name for path in (out / "runs" / "sim").iterdir()}
    first = json.loads((out / "study.json").read_text())["study_sha256"]
    text = (tiny / "study.toml").read_text()
    (tiny / "study.toml").write_text(text.replace('duration = "2s"', 'duration = "3s"'))
    answer = call(*arguments)
    assert answer.json["runs"] == {"made": 8, "reused": 0}
    now = {path.name for path in (out / "runs" / "sim").iterdir()}
    assert old < now
    assert len(now) == 16
    index = json.loads((out / "study.json").read_text())
    assert index["earlier_sha256"] == [first]
    report = (out / "report.html").read_text()
    assert first in report
    assert index["study_sha256"] in report


SMALL_DISK = """
import json, subprocess, sys
from pathlib import Path
from airperf.cli.program import outcome
from airperf.experiment import campaign

study, disk = sys.argv[1:]
def mount(options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], check=True)
def attempt():
    out = Path(disk, "out")
    code = outcome(["study", study, "--testbed", "sim", "--out", str(out)])
    made = sorted(path.parent.name for path in out.glob("runs/sim/*/manifest.json"))
    partial = [str(path) for path in out.rglob("*.partial-*")]
    print(json.dumps({"code": code, "made": made, "partial": partial}), file=sys.__stdout__, flush=True)
mount("size=60m")
attempt()
campaign._preflight = lambda *_: None  # the disk fills up later than one could know
mount("remount,size=200k")
attempt()
mount("remount,size=60m")
attempt()
"""


def test_fault_02_a_full_disk_stops_and_keeps_what_is_there(tiny: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare(1) for a small disk of its own")
    private = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*private, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs user and mount namespaces for a small disk of its own")
    answer = subprocess.run(
        [*private, sys.executable, "-c", SMALL_DISK, str(tiny), str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in answer.stdout.splitlines() if line.startswith('{"code"')]
    assert len(lines) == 3, answer.stderr
    before, full, after = lines
    assert before["code"] == 2, "too little space is found before anything starts"
    assert "free; nothing was started" in answer.stderr
    assert before["made"] == []
    assert full["code"] == 3
    assert "No space left" in answer.stderr or "bytes" in answer.stderr
    assert 0 < len(full["made"]) < 8
    assert full["partial"] == []
    assert after["code"] == 0
    assert len(after["made"]) == 8
    assert set(full["made"]) < set(after["made"])


def test_dry_run_starts_nothing(call: Call, tiny: Path, tmp_path: Path) -> None:
    answer = call("study", str(tiny), *SIM, "--dry-run", "--out", str(tmp_path / "out"))
    assert answer.code == 0
    assert len(answer.json["points"]) == 16, "two variants name the same points"
    assert answer.json["runs"] == {"sim": 8}
    assert answer.json["estimate"]["disk_bytes"] > 0
    assert not (tmp_path / "out").exists()
    listed = call("study", str(tiny), "--testbed", "sim", "--dry-run")
    assert "E1/sweep/sim/rate=10/r0  duration=2s drain=1s client.rate=10/s" in listed.out


def test_testbeds_made_one_after_the_other_meet_in_one_report(
    call: Call, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert call("study", str(tiny), *SIM, "--out", str(out)).code == 0
    before = json.loads((out / "study.json").read_text())
    assert before["command"] == "airperf study tiny --testbed sim"
    # An emulated run that fails at once: what the simulation left is still in the index.
    monkeypatch.setattr("airperf.experiment.planning.lacking", lambda _: [])
    monkeypatch.setattr("airperf.experiment.campaign.substituted", lambda _: [])
    broken = [sys.executable, "-c", "import sys; sys.exit(1)"]
    monkeypatch.setattr("airperf.experiment.executor.Pool", lambda workers: Pool(workers, broken))
    answer = call("study", str(tiny), "--testbed", "emu", "--json", "--out", str(out))
    assert answer.code == 3
    assert "worker ended, status 1, 3 times" in answer.json["partial"][0]
    after = json.loads((out / "study.json").read_text())
    assert after["command"] == "airperf study tiny"
    states = [(point["testbed"], point["state"]) for point in after["points"]]
    assert states.count(("sim", "done")) == 16
    assert states.count(("emu", "failed")) == 1
    assert answer.json["rows"][0]["within"] is True


TOO_BUSY = """
import json, pathlib, sys
from airperf.testbed import worker

perform = worker.perform
folder = pathlib.Path(sys.argv[1])


def busy(job, progress):
    answer = perform(job, progress)
    mark = folder / pathlib.Path(job["out_dir"]).name
    tried = len(mark.read_text()) if mark.exists() else 0
    mark.write_text("x" * (tried + 1))
    if tried < TIMES:
        answer["done"] = {"valid": False, "why_invalid": ["too busy"]}
    return answer


worker.perform = busy
sys.argv = sys.argv[1:]
worker.main()
"""


@pytest.mark.parametrize(("times", "code"), [(1, 0), (9, 3)])
def test_fault_10_a_run_that_the_machine_was_too_busy_for_is_made_again_twice_at_most(
    call: Call, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, code: int
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    program = TOO_BUSY.replace("TIMES", str(times))
    command = [sys.executable, "-c", program, str(marks)]
    monkeypatch.setattr("airperf.experiment.executor.Pool", lambda workers: Pool(workers, command))
    out = tmp_path / "out"
    answer = call("study", str(tiny), *SIM, "--quick", "--out", str(out))
    assert answer.code == code, answer.err
    assert [len(mark.read_text()) for mark in marks.iterdir()] == [2 if times == 1 else 3]
    assert "put aside" in answer.err
    assert len(list((out / "quarantine").rglob("manifest.json"))) == (1 if times == 1 else 2)
    assert ("invalid: too busy" in str(answer.json["partial"])) is (code == 3)


def test_quick_is_smaller(call: Call, tiny: Path, tmp_path: Path) -> None:
    answer = call("study", str(tiny), *SIM, "--quick", "--out", str(tmp_path / "out"))
    assert answer.json["runs"] == {"made": 1, "reused": 0}


@pytest.mark.parametrize(
    ("find", "replace", "message"),
    [
        ("10..40 step 10 /s", "40..10 step 10 /s", "runs backwards"),
        ("10..40 step 10 /s", "0..1000000000 step 1 /s", "allowed: up to 10000"),
        (
            'factor = "rate"\nkey = "client.rate"\nlevels = "10',
            'factor = "rate"\nlevels = "10',
            "key 'key' is missing",
        ),
        ('testbeds = ["sim"]', 'testbeds = ["moon"]', "unknown testbed 'moon'"),
        ("schema = 1", "schema = 9", "schema version 9"),
    ],
)
def test_fault_38_a_bad_study_is_refused_with_its_line(
    call: Call, tiny: Path, tmp_path: Path, find: str, replace: str, message: str
) -> None:
    text = (tiny / "study.toml").read_text()
    assert find in text
    (tiny / "study.toml").write_text(text.replace(find, replace, 1))
    answer = call("study", str(tiny), *SIM, "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert message in answer.err
    assert "tiny/study.toml:" in answer.err
    assert "nothing was started" in answer.err
    assert not (tmp_path / "out").exists()


def test_fault_38_a_level_that_the_scenario_refuses(call: Call, tiny: Path, tmp_path: Path) -> None:
    text = (tiny / "study.toml").read_text()
    (tiny / "study.toml").write_text(text.replace("10..40 step 10 /s", "10..40 step 10 mbps"))
    answer = call("study", str(tiny), *SIM, "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert "`mbps` is no unit" in answer.err
    assert "tiny/study.toml:19:10:" in answer.err
    (tiny / "study.toml").write_text(text.replace("10..40 step 10 /s", "10..40 step 10 ms"))
    answer = call("study", str(tiny), *SIM, "--out", str(tmp_path / "out"))
    assert answer.code == 2
    assert "10ms" in answer.err
    assert "40ms" in answer.err
    assert not (tmp_path / "out").exists()


def test_unknown_names_say_what_there_is(call: Call, tiny: Path) -> None:
    answer = call("study", "nonsense")
    assert answer.code == 2
    assert "installed studies: bai2006" in answer.err
    answer = call("study", str(tiny), "--only", "E9")
    assert answer.code == 2
    assert "it has E1" in answer.err
