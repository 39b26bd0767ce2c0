"""Helpers of the Python tests: synthetic run directories with known content, and running the command line.

Tests of analysis use tables written here, whose answers are known in closed form; tests of the command line
use the real compiled module.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.cli.program import outcome

MS = 1_000_000
S = 1_000_000_000

CONNECTION_SCHEMA = {
    "connection": pl.UInt64,
    "client": pl.UInt16,
    "server": pl.UInt16,
    "client_port": pl.UInt16,
    "due_ns": pl.UInt64,
    "opened_ns": pl.UInt64,
    "established_ns": pl.UInt64,
    "first_frame_ns": pl.UInt64,
    "last_frame_ns": pl.UInt64,
    "class": pl.String,
    "error": pl.String,
    "exchanges": pl.UInt32,
    "bytes_up": pl.UInt64,
    "bytes_down": pl.UInt64,
    "segments_up": pl.UInt32,
    "segments_down": pl.UInt32,
    "retransmissions_up": pl.UInt32,
    "retransmissions_down": pl.UInt32,
}
EXCHANGE_SCHEMA = {
    "connection": pl.UInt64,
    "index": pl.UInt32,
    "client": pl.UInt16,
    "due_ns": pl.UInt64,
    "sent_ns": pl.UInt64,
    "first_byte_ns": pl.UInt64,
    "done_ns": pl.UInt64,
    "request_bytes": pl.UInt64,
    "response_bytes": pl.UInt64,
    "error": pl.String,
}
QUEUE_SCHEMA = {
    "time_ns": pl.UInt64,
    "station": pl.UInt16,
    "depth": pl.UInt32,
    "mean": pl.Float64,
    "offered": pl.UInt64,
    "dropped": pl.UInt64,
    "departed": pl.UInt64,
}

Exchange = tuple[int, int | None, str | None]
"""Due (ns), done (ns) and error of one synthetic exchange."""


def write_run(
    folder: Path,
    exchanges: Sequence[Exchange],
    *,
    duration_s: float = 10.0,
    durations_ms: Sequence[float] | None = None,
    queues: Sequence[dict[str, Any]] = (),
    name: str = "synthetic",
    testbed: str = "sim",
    stations: tuple[str, str] = ("server", "client"),
    totals: dict[str, Any] | None = None,
    lag: dict[str, float] | None = None,
    why_invalid: Sequence[str] = (),
    repetition: int = 0,
    seed: int = 1,
    response_bytes: int = 1283,
) -> Path:
    """Writes a run directory whose connections carry one exchange each."""
    folder.mkdir(parents=True)
    connection_rows = []
    exchange_rows = []
    for number, (due, done, error) in enumerate(exchanges):
        length = durations_ms[number] if durations_ms is not None else 10.0
        first = due + MS // 5
        connection_rows.append(
            {
                "connection": number,
                "client": 1,
                "server": 0,
                "client_port": 1024 + number % 60000,
                "due_ns": due,
                "opened_ns": due,
                "established_ns": due + 2 * MS,
                "first_frame_ns": first,
                "last_frame_ns": first + round(length * MS),
                "class": "syn_fin" if error is None else "syn_rst" if error != "connect" else "syn_no_synack",
                "error": error,
                "exchanges": int(error is None),
                "bytes_up": 74,
                "bytes_down": response_bytes,
                "segments_up": 6,
                "segments_down": 4,
                "retransmissions_up": 0,
                "retransmissions_down": 0,
            }
        )
        exchange_rows.append(
            {
                "connection": number,
                "index": 0,
                "client": 1,
                "due_ns": due,
                "sent_ns": None if error == "connect" else due + 3 * MS,
                "first_byte_ns": None if done is None else done - MS,
                "done_ns": done,
                "request_bytes": 74,
                "response_bytes": response_bytes if error is None else 0,
                "error": error,
            }
        )
    frames = {
        "connections": pl.DataFrame(connection_rows, schema=CONNECTION_SCHEMA),
        "exchanges": pl.DataFrame(exchange_rows, schema=EXCHANGE_SCHEMA),
        "queues": pl.DataFrame(list(queues), schema=QUEUE_SCHEMA),
    }
    tables = {}
    for table, frame in frames.items():
        path = folder / f"{table}.parquet"
        frame.write_parquet(path)
        data = path.read_bytes()
        tables[path.name] = {
            "rows": frame.height,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
    queue = {"mean": 1.0, "max": 5, "offered": 100, "dropped": 0, "departed": 100, "lost": 0}
    manifest: dict[str, Any] = {
        "schema": 1,
        "kind": "run",
        "testbed": testbed,
        "airperf": "0.1.0",
        "scenario": {
            "name": name,
            "text": f"name = {name!r}",
            "sha256": "0" * 64,
            "resolved": {"name": name, "summary": "A synthetic run.", "link": {"queue": 100}},
        },
        "seed": seed,
        "point": 0,
        "repetition": repetition,
        "duration_s": duration_s,
        "elapsed_s": duration_s,
        "level": "analysis",
        "stations": [
            {"id": 0, "name": stations[0], "role": "server"},
            {"id": 1, "name": stations[1], "role": "client"},
        ],
        "totals": totals
        or {
            "airtime": {"data": 0.2 * duration_s, "backoff": 0.3 * duration_s, "idle": 0.5 * duration_s},
            "queues": {stations[0]: queue, stations[1]: queue},
        },
        "valid": not why_invalid,
        "why_invalid": list(why_invalid),
        "tables": tables,
        "files": {},
    }
    if lag is not None:
        manifest["lag"] = lag
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def steady(rate: int, duration_s: int = 10, response_ms: int = 5) -> list[Exchange]:
    """``rate`` exchanges per second, evenly due, each done ``response_ms`` later."""
    gap = S // rate
    return [(i * gap, i * gap + response_ms * MS, None) for i in range(rate * duration_s)]


@pytest.fixture
def make_run() -> Callable[..., Path]:
    """Writes synthetic run directories."""
    return write_run


Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def airperf(tmp_path: Path) -> Cli:
    """Runs the installed command line in an empty folder."""

    def call(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        options.setdefault("cwd", tmp_path)
        options.setdefault("timeout", 300)
        return subprocess.run(
            [sys.executable, "-m", "airperf", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "120"},
            **options,
        )

    return call


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Call = Callable[..., Answer]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Answer:
        capsys.readouterr()
        code = outcome(list(arguments))
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


STUDY = """
schema = 1
name = "tiny"
title = "A study for tests"
question = "Does it work?"
scenario = "bai2006-e1"
seed = 7
limits = ["Small."]

[[experiment]]
id = "E1"
repetitions = 2

[[experiment.variant]]
name = "sweep"
testbeds = ["sim"]
factor = "rate"
key = "client.rate"
levels = "10..40 step 10 /s"
set = { duration = "2s", drain = "1s" }
quick = { levels = ["10/s"], repetitions = 1 }

[[experiment.variant]]
name = "airtime"
testbeds = ["sim"]
factor = "rate"
key = "client.rate"
levels = "10..40 step 10 /s"
repetitions = 2
set = { duration = "2s", drain = "1s" }
quick = { levels = ["10/s"], repetitions = 1 }

[[experiment.variant]]
name = "emu"
testbeds = ["emu"]
beside = "sweep"
factor = "rate"
key = "client.rate"
levels = ["10/s"]
repetitions = 1
set = { duration = "2s", drain = "1s" }

[[experiment.figure]]
name = "panels"
kind = "panels"
x = "rate"
panels = ["transactions", "response", "errors"]
series = [
  { variant = "sweep", label = "sim" },
  { variant = "emu", testbed = "emu", label = "emulated" },
]

[[experiment.figure]]
name = "durations"
kind = "durations"
variant = "sweep"
levels = [10, 40]

[[experiment.figure]]
name = "distributions"
kind = "distributions"
variant = "sweep"
levels = [10, 40]

[[experiment.figure]]
name = "queues"
title = "Queues"
kind = "queues"
variant = "sweep"
levels = [40]

[[experiment.figure]]
name = "airtime"
kind = "airtime"
variant = "airtime"
x = "rate"
"""

TARGETS = """
source = "Nobody."

[[row]]
id = "E1.knee"
what = "Knee"
unit = "1/s"
published = 40
compare = "near"
tolerance = 0.1
measure = "knee_rps"
variant = "sweep"

[[row]]
id = "E1.duration"
what = "Duration at 10/s"
unit = "ms"
published = 1
compare = "near"
tolerance = 0.1
measure = "connection_duration_ms"
variant = "sweep"
at = { rate = 10 }
note = "Published for another network."

[[row]]
id = "E1.packets"
what = "Packets at 10/s"
unit = "packets"
measure = "packets_per_transaction"
variant = "sweep"
at = { rate = 10 }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A study that takes less than a second."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "targets.toml").write_text(TARGETS, encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """Reads every file below a folder."""
    return contents
