"""A small experiment with everything that decides on points as it goes: precision and a knee."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airperf.cli.program import outcome

EXPERIMENT = """
schema = 1
name = "small"
title = "An experiment for tests"
question = "Does it work?"
scenario = "bai2006-e1"
seed = 7
measures = ["response_ms", "queue_max.client"]
limits = ["Small."]

[set]
duration = "2s"
drain = "1s"

[repetitions]
until = "half_width of response_ms < 1%"
at_least = 2
at_most = 5

[[factor]]
name = "rate"
key = "client.rate"
levels = "20..60 step 20 /s"

[[factor]]
name = "preamble"
levels = [
  { name = "long", set = { "link.preamble" = "long" } },
  { name = "short", set = { "link.preamble" = "short" } },
]

[knee]
key = "client.rate"
range = "20..300 step 8 /s"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of an experiment that takes about a second."""
    path = tmp_path / "small.toml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that one worker makes of the small experiment in one go."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.toml").write_text(EXPERIMENT, encoding="utf-8")
    out = folder / "out"
    assert outcome(["experiment", str(folder / "small.toml"), "--workers", "1", "--out", str(out)]) == 0
    return out


@pytest.fixture
def whole(made_once: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(made_once, tmp_path / "whole"))
