"""House rule 3: which crate may use which, and who may know PyO3, the system, or a file format."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import ROOT, text

MODELS = {"wifi", "wwan", "link", "tcp", "rudp", "http", "workload"}

# Who may use whom within the workspace. A crate that is not here fails the test: decide, then write it down.
ALLOWED: dict[str, set[str]] = {
    "units": set(),
    "link": {"units"},
    "wifi": {"units", "link"},
    "wwan": {"units", "link"},
    "tcp": {"units"},
    "rudp": {"units"},
    "http": {"units"},
    "workload": {"units"},
    "scenario": {"units"} | MODELS,
    "record": {"units"},
    "wire": {"units"},
    "analyze": {"units", "wire", "record"},
    "clock": {"units"},
    "sim": {"units", "scenario", "record", "wire"} | MODELS,
    # emu reads the schedule of the workload and has no TCP or HTTP of its own.
    "emu": {"units", "clock", "link", "wifi", "wwan", "workload", "scenario", "record", "wire", "analyze"},
    "load": {"units", "clock", "workload", "record"},
    # The proxy has the admission policy of the model, so that what was simulated is what runs, and the
    # private authority of hosted sites.
    "proxy": {"units", "http", "host"},
    # What was recorded is served as it was: no model has a part in it.
    "host": set(),
    "python": {
        "units",
        "scenario",
        "record",
        "sim",
        "emu",
        "load",
        "analyze",
        "wire",
        "proxy",
        "http",
        "host",
    },
}

# Measure, feed or test the whole house, and are part of no wheel.
OUTSIDE = {"benches", "fuzz", "tests"}

# Crates from elsewhere that only some of ours may use.
RESERVED: dict[str, set[str]] = {
    "pyo3": {"python"},
    "arrow": {"record", "emu"},
    "parquet": {"record", "emu"},
    "tokio": {"sim", "emu", "load", "proxy", "host"},
    "nix": {"clock", "sim", "emu", "load"},
    # record: free space and the atomic renaming of a run's folder; the features are checked below.
    # python: the number of an error.
    "rustix": {"sim", "emu", "load", "record", "python"},
    "libc": {"sim", "emu", "load", "proxy"},
    "rtnetlink": {"sim", "emu", "load"},
}

# The model is SANS-IO: nothing that could hold a clock, a file or an unseeded random number.
MODEL_MAY_USE = {"libm", "thiserror", "serde"}


@functools.cache
def packages() -> dict[str, Any]:
    """Our crates by their name without the prefix, as `cargo metadata` tells."""
    said = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {p["name"].removeprefix("airperf-"): p for p in json.loads(said)["packages"]}


def uses(kind: str | None) -> Iterator[tuple[str, str]]:
    """Pairs (crate in the wheel, what it depends on) for one kind of dependency; None is the normal kind."""
    for name, package in packages().items():
        for dependency in package["dependencies"]:
            if dependency["kind"] == kind and name not in OUTSIDE:
                yield name, dependency["name"]


def test_every_crate_has_its_place() -> None:
    placed = set(ALLOWED) | OUTSIDE
    assert set(packages()) <= placed, set(packages()) - placed


def test_crates_use_only_what_their_layer_allows() -> None:
    wrong = [
        f"{user} uses {used}"
        for user, used in uses(None)
        if used.startswith("airperf-") and used.removeprefix("airperf-") not in ALLOWED[user]
    ]
    assert not wrong, wrong


def test_testbeds_do_not_use_each_other_even_in_tests() -> None:
    pairs = {(user, used) for kind in (None, "dev", "build") for user, used in uses(kind)}
    assert ("emu", "airperf-sim") not in pairs
    assert ("sim", "airperf-emu") not in pairs


@pytest.mark.parametrize("crate", sorted(RESERVED))
def test_reserved_crates_stay_where_they_belong(crate: str) -> None:
    wrong = [
        user
        for user, used in uses(None)
        if (used == crate or used.startswith(f"{crate}-")) and user not in RESERVED[crate]
    ]
    assert not wrong, f"{crate} is used by {wrong}"


def test_record_asks_the_system_only_for_files() -> None:
    features = [set(d["features"]) for d in packages()["record"]["dependencies"] if d["name"] == "rustix"]
    assert all(f <= {"std", "fs"} for f in features), features


def test_the_model_uses_nothing_that_could_read_a_clock() -> None:
    wrong = [
        f"{user} uses {used}"
        for user, used in uses(None)
        if user in MODELS | {"units"} and not used.startswith("airperf-") and used not in MODEL_MAY_USE
    ]
    assert not wrong, wrong


def test_every_crate_takes_the_workspace_lints() -> None:
    bare = [
        name
        for name, package in packages().items()
        if "[lints]\nworkspace = true" not in text(Path(package["manifest_path"]))
    ]
    assert not bare, bare
