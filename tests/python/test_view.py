"""Runs of a study by variant, testbed and factor; emulated beside simulated."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from airperf.analysis.beside import emulated_against_simulated
from airperf.analysis.panels import QUANTITIES, airtime_shares, by_level
from airperf.analysis.scoreboard import measure
from airperf.analysis.view import StudyView
from airperf.errors import RecordError
from airperf.records import open_campaign

S = 1_000_000_000
MS = 1_000_000
MakeRun = Callable[..., Path]
LAG = {"p50_us": 10.0, "p99_us": 90.0, "max_us": 300.0}


def steady(rate: int, lost: int = 0) -> list[tuple[int, int | None, str | None]]:
    good = [(i * S // rate, i * S // rate + 5 * MS, None) for i in range(rate * 10)]
    return [*good[lost:], *((due, None, "connect") for due, _, _ in good[:lost])]


def campaign(folder: Path, points: Sequence[dict[str, Any]]) -> StudyView:
    defaults = {
        "experiment": "E1",
        "key": "",
        "state": "done",
        "why": "",
        "repetition": 0,
        "factors": {"rate": 10},
    }
    entries = [{**defaults, "id": f"p{n}", "key": f"k{n}", **point} for n, point in enumerate(points)]
    index = {"schema": 1, "points": entries, "targets": [], "figures": [], "published": []}
    index["variants"] = [{"name": "emu", "beside": "kernel-tcp", "factor": "rate"}]
    (folder / "study.json").write_text(json.dumps(index))
    return StudyView(open_campaign(folder))


def test_emulated_points_beside_their_simulation(tmp_path: Path, make_run: MakeRun) -> None:
    make_run(tmp_path / "s10", steady(10))
    make_run(tmp_path / "e10", steady(10), testbed="emu", lag=LAG)
    make_run(tmp_path / "s100", steady(100, lost=100))
    make_run(tmp_path / "e100", steady(100, lost=300), testbed="emu", lag={**LAG, "p99_us": 200.0})
    view = campaign(
        tmp_path,
        [
            {"variant": "kernel-tcp", "testbed": "sim", "run": "s10"},
            {"variant": "emu", "testbed": "emu", "run": "e10"},
            {"variant": "kernel-tcp", "testbed": "sim", "run": "s100", "factors": {"rate": 100}},
            {"variant": "emu", "testbed": "emu", "run": "e100", "factors": {"rate": 100}},
        ],
    )
    low, high = emulated_against_simulated(view).to_dicts()
    assert (low["emu"], low["sim"], low["difference"], low["limit"], low["within"]) == (10, 10, 0, 0.05, True)
    assert (low["emu_connection_ms"], low["sim_connection_ms"]) == (10, 10)
    assert (low["lag_p50_us"], low["lag_p99_us"], low["lag_max_us"]) == (10, 90, 300)
    assert (high["emu"], high["sim"], high["limit"]) == (70, 90, 0.10)
    assert (high["offered"], high["limited"]) == (100, 0)
    assert high["difference"] == pytest.approx(70 / 90 - 1)
    assert high["within"] is False


def test_fault_12_a_point_whose_generator_fell_short_is_marked(tmp_path: Path, make_run: MakeRun) -> None:
    folder = make_run(tmp_path / "slow", steady(8), testbed="emu", lag=LAG)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["totals"]["counts"] = {"generator_limited": 1, "client_limited": 0}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    view = campaign(tmp_path, [{"variant": "emu", "testbed": "emu", "run": "slow"}])
    (row,) = emulated_against_simulated(view).to_dicts()
    assert (row["level"], row["offered"], row["limited"]) == (10, 8, 1)


def test_an_invalid_run_is_listed_and_not_used(tmp_path: Path, make_run: MakeRun) -> None:
    make_run(tmp_path / "good", steady(10), testbed="emu", lag=LAG)
    make_run(tmp_path / "late", steady(10, lost=50), testbed="emu", lag=LAG, why_invalid=["lag p99 900 us"])
    view = campaign(
        tmp_path,
        [
            {"variant": "emu", "testbed": "emu", "run": "good"},
            {"variant": "emu", "testbed": "emu", "run": "late", "repetition": 1},
        ],
    )
    (row,) = emulated_against_simulated(view).to_dicts()
    assert (row["emu"], row["emu_n"], row["invalid"]) == (10, 1, 1)
    assert row["within"] is None, "there is no simulation to compare with"
    assert view.unusable == {"p1": "invalid: lag p99 900 us"}


def test_intervals_are_over_repetitions_at_one_rate(tmp_path: Path, make_run: MakeRun) -> None:
    for repetition, lost in enumerate((0, 10, 20)):
        make_run(tmp_path / f"r{repetition}", steady(10, lost), repetition=repetition)
    view = campaign(
        tmp_path,
        [
            {"variant": "sweep", "testbed": "sim", "run": f"r{repetition}", "repetition": repetition}
            for repetition in range(3)
        ],
    )
    rows = {row["quantity"]: row for row in by_level(view, "sweep", "sim", list(QUANTITIES)).to_dicts()}
    carried = rows["carried_rps"]
    assert (carried["level"], carried["mean"], carried["n"]) == (10, 9, 3)
    half = 4.302653 / 3**0.5  # Student's t(0.975, 2), standard deviation 1
    assert carried["high"] == pytest.approx(9 + half, rel=1e-6)
    assert rows["errors_connect_per_s"]["mean"] == 1
    assert rows["errors_per_s"]["mean"] == 1
    shares = {row["category"]: row["share"] for row in airtime_shares(view, "sweep", "sim").to_dicts()}
    assert shares == pytest.approx({"data": 0.2, "backoff": 0.3, "idle": 0.5})


def test_a_sweep_measure_takes_only_whole_repetitions(tmp_path: Path, make_run: MakeRun) -> None:
    make_run(tmp_path / "a10", steady(10))
    make_run(tmp_path / "a20", steady(20))
    make_run(tmp_path / "b10", steady(10))
    view = campaign(
        tmp_path,
        [
            {"variant": "sweep", "testbed": "sim", "run": "a10"},
            {"variant": "sweep", "testbed": "sim", "run": "a20", "factors": {"rate": 20}},
            {"variant": "sweep", "testbed": "sim", "run": "b10", "repetition": 1},
            {
                "variant": "sweep",
                "testbed": "sim",
                "run": "none",
                "repetition": 1,
                "factors": {"rate": 20},
                "state": "failed",
            },
        ],
    )
    knee = measure(view, {"id": "x", "measure": "knee_rps", "variant": "sweep"})
    assert (knee.mean, knee.n) == (20, 1)
    with pytest.raises(ValueError, match="unknown measure 'nonsense'"):
        measure(view, {"id": "x", "measure": "nonsense", "variant": "sweep"})


def test_a_point_outside_the_folder_is_refused(tmp_path: Path, make_run: MakeRun) -> None:
    make_run(tmp_path / "secret", steady(10))
    folder = tmp_path / "study"
    folder.mkdir()
    view = campaign(folder, [{"variant": "sweep", "testbed": "sim", "run": "../secret"}])
    (point,) = view.campaign.points
    with pytest.raises(RecordError, match="lies outside the study folder"):
        view.campaign.open(point)
    assert view.runs("sweep", "sim") == []
    assert "outside" in view.unusable["p0"]
