"""Experiments on a Dask cluster: the same bytes as here, through processes and through Slurm's commands.

There is no Slurm here: stand-ins for sbatch and scancel start and end what they are given.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.testbed import Job, engine_id

pytest.importorskip("distributed", reason="needs Dask (airperf[cluster])")
cluster = pytest.importorskip("airperf.experiment.cluster")

Call = Callable[..., Any]
Files = Callable[[Path], dict[str, bytes]]

SBATCH = """#!/bin/sh
# The script is removed as soon as this has answered.
script=$(cat "$1")
sh -c "$script" >/dev/null 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
kill "$@" 2>/dev/null
exit 0
"""


def airperf(small: Path, out: Path, *more: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airperf", "experiment", str(small), "--out", str(out), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


def test_a_dask_cluster_makes_the_same_bytes(
    small: Path, tmp_path: Path, whole: Path, files_of: Files
) -> None:
    out = tmp_path / "dask"
    answer = airperf(small, out, "--cluster", "local", "--workers", "2")
    assert answer.returncode == 0, answer.stderr
    assert files_of(out) == files_of(whole)


def test_a_cluster_that_is_not_there_is_exit_4(call: Call, small: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s"}
    answer = airperf(small, tmp_path / "out", "--cluster", "tcp://127.0.0.1:9", env=environment)
    assert answer.returncode == 4
    assert "no scheduler answers there" in answer.stderr
    assert call("experiment", str(small), "--cluster", "moon", "--out", "out").code == 2
    if shutil.which("sbatch") is None:
        slurm = call("experiment", str(small), "--cluster", "slurm", "--out", "out")
        assert slurm.code == 4
        assert "sbatch is not on this machine" in slurm.err


def test_slurm_jobs_make_the_same_bytes(small: Path, tmp_path: Path, whole: Path, files_of: Files) -> None:
    pytest.importorskip("dask_jobqueue")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    lacking = airperf(small, tmp_path / "slurm", "--cluster", "slurm", env=environment)
    assert lacking.returncode == 4
    assert "jobqueue.yaml lacks something" in lacking.stderr
    settings = {"CORES": "1", "MEMORY": "1GB", "INTERFACE": "lo"}
    environment |= {f"DASK_JOBQUEUE__SLURM__{name}": value for name, value in settings.items()}
    answer = airperf(small, tmp_path / "slurm", "--cluster", "slurm", env=environment)
    assert answer.returncode == 0, answer.stderr
    assert files_of(tmp_path / "slurm") == files_of(whole)


def test_fault_07_a_worker_of_another_engine_makes_nothing(tmp_path: Path) -> None:
    job = Job("sim", "", "x", (), 1, 0, 0, str(tmp_path / "run"), "summary", 1.0)
    outcome, files = cluster.remote(job, "airperf-0 build-another")
    assert (outcome.kind, files) == ("environment", {})
    assert "this worker has airperf-" in outcome.why


def test_fault_07_a_worker_with_another_browser_makes_nothing(tmp_path: Path) -> None:
    """Without a browser on this machine it has none, which is another one, too."""
    job = Job(
        "emu", "", "x", (), 1, 0, 0, str(tmp_path / "run"), "summary", 1.0, browser="Chromium 0.1 of long ago"
    )
    outcome, files = cluster.remote(job, engine_id("emu"))
    assert (outcome.kind, files) == ("environment", {})
    assert "the experiment is run by Chromium 0.1 of long ago" in outcome.why


def test_fault_01_files_that_came_back_have_their_name_when_all_are_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        cluster.keep(tmp_path / "run", {"a": b"1", "no/such/folder": b"2"})
    assert not (tmp_path / "run").exists()
    cluster.keep(tmp_path / "run", {"a": b"1", "b": b"2"})
    assert {path.name: path.read_bytes() for path in tmp_path.glob("run/*")} == {"a": b"1", "b": b"2"}
