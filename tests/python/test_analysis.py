"""Summary, series and measures of synthetic runs whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.analysis import series
from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES, Rung
from airperf.analysis.summary import summary
from airperf.analysis.tables import Tables, load
from airperf.records import open_run

MS = 1_000_000
S = 1_000_000_000
MakeRun = Callable[..., Path]


Exchange = tuple[int, int | None, str | None]


def steady(rate: int, seconds: int = 10, response_ms: int = 5) -> list[Exchange]:
    """Evenly due exchanges, each done ``response_ms`` later."""
    return [(i * S // rate, i * S // rate + response_ms * MS, None) for i in range(rate * seconds)]


def opened(folder: Path) -> Tables:
    return load(open_run(folder))


def measure(name: str, records: Any, parameters: dict[str, Any]) -> float | None:
    value: float | None = {**RUN_MEASURES, **SWEEP_MEASURES}[name](records, parameters)  # type: ignore[operator]
    return value


def test_summary_of_a_steady_run(tmp_path: Path, make_run: MakeRun) -> None:
    values = summary(opened(make_run(tmp_path / "a", steady(20))))
    assert values["offered_rps"] == 20
    assert values["carried_rps"] == 20
    assert values["goodput_bps"] == 20 * 1283 * 8
    assert values["response_ms"] == {"mean": 5.0, "p50": 5.0, "p99": 5.0}
    assert values["connection_ms"] == {"mean": 10.0, "p50": 10.0, "p99": 10.0}
    assert values["errors"] == {"connect": 0, "send": 0, "reply": 0, "receive": 0, "reset": 0}
    assert values["queues"]["client"] == {"mean": 1.0, "max": 5, "drops": 0}
    assert values["airtime"] == {"data": 2.0, "backoff": 3.0, "idle": 5.0}
    assert "lag_us" not in values


def test_what_drains_after_the_load_is_not_carried(tmp_path: Path, make_run: MakeRun) -> None:
    late = [(9 * S, 11 * S, None)] * 10
    values = summary(opened(make_run(tmp_path / "a", steady(10) + late)))
    assert values["offered_rps"] == 11
    assert values["carried_rps"] == 10
    # response time counts them: they were due in time
    assert values["response_ms"]["mean"] == pytest.approx((100 * 5 + 10 * 2000) / 110)


def test_an_exchange_done_exactly_at_the_end_counts(tmp_path: Path, make_run: MakeRun) -> None:
    values = summary(opened(make_run(tmp_path / "a", [(9 * S, 10 * S, None), (9 * S, 10 * S + 1, None)])))
    assert values["carried_rps"] == 0.1


def test_errors_are_counted_by_phase(tmp_path: Path, make_run: MakeRun) -> None:
    failed = [(S, None, "connect"), (S, None, "connect"), (2 * S, None, "reply")]
    tables = opened(make_run(tmp_path / "a", steady(10) + failed))
    values = summary(tables)
    assert values["errors"] == {"connect": 2, "send": 0, "reply": 1, "receive": 0, "reset": 0}
    assert values["carried_rps"] == 10
    assert series.errors_per_s(tables)["connect"] == 0.2


def test_a_run_without_any_exchange_has_no_times(tmp_path: Path, make_run: MakeRun) -> None:
    values = summary(opened(make_run(tmp_path / "a", [])))
    assert values["offered_rps"] == 0
    assert values["response_ms"] == {"mean": None, "p50": None, "p99": None}


def test_lag_of_an_emulated_run(tmp_path: Path, make_run: MakeRun) -> None:
    lag = {"p50_us": 9.0, "p99_us": 80.0, "max_us": 400.0}
    values = summary(opened(make_run(tmp_path / "a", steady(10), testbed="emu", lag=lag)))
    assert values["lag_us"] == {"p50": 9.0, "p99": 80.0, "max": 400.0}


def test_completions_by_second(tmp_path: Path, make_run: MakeRun) -> None:
    counts = series.completions_per_s(opened(make_run(tmp_path / "a", steady(7))))
    assert counts.tolist() == [7.0] * 10


def queue_rows(station: int, fill_at: float | None) -> list[dict[str, float]]:
    return [
        {
            "time_ns": (i + 1) * S // 10,
            "station": station,
            "depth": 1,
            "mean": 0.5,
            "offered": 3,
            "dropped": int(fill_at is not None and (i + 1) / 10 >= fill_at),
            "departed": 3,
        }
        for i in range(100)
    ]


def test_queue_fill_is_the_first_refusal(tmp_path: Path, make_run: MakeRun) -> None:
    rows = queue_rows(0, None) + queue_rows(1, 4.2)
    tables = opened(make_run(tmp_path / "a", steady(10), queues=rows))
    assert measure("queue_fill_s", tables, {"station": "client"}) == pytest.approx(4.2)
    assert measure("queue_fill_s", tables, {"station": "server"}) is None


def test_packets_of_a_transaction(tmp_path: Path, make_run: MakeRun) -> None:
    tables = opened(make_run(tmp_path / "a", steady(10)))
    assert measure("packets_per_transaction", tables, {}) == 10
    assert measure("packets_per_transaction", tables, {"side": "client"}) == 6
    assert measure("packets_per_transaction", tables, {"side": "server"}) == 4


def test_measures_of_connection_durations(tmp_path: Path, make_run: MakeRun) -> None:
    durations = [8.0] * 50 + [12.0] * 30 + [3000.0] * 15 + [21_000.0] * 5
    tables = opened(make_run(tmp_path / "a", steady(10), durations_ms=durations))
    assert measure("connection_share", tables, {"from_ms": 8, "to_ms": 12}) == 0.8
    assert measure("connection_share", tables, {"from_ms": 2900, "to_ms": 3500}) == 0.15
    assert measure("connection_longest_s", tables, {}) == 21
    assert measure("connection_duration_ms", tables, {}) == pytest.approx(4 + 3.6 + 450 + 1050)
    skew = measure("connection_skewness", tables, {})
    assert skew is not None
    assert skew > 1
    # 0.2 ms from due to the first frame
    assert measure("transaction_time_ms", tables, {}) == pytest.approx(1507.8)


def test_connections_that_never_opened_are_left_out_of_durations(tmp_path: Path, make_run: MakeRun) -> None:
    rows = [*steady(1), (S, None, "connect")]
    tables = opened(make_run(tmp_path / "a", rows, durations_ms=[10.0] * 10 + [9000.0]))
    assert measure("connection_duration_ms", tables, {}) == 10.0


def ladder(tmp_path: Path, make_run: MakeRun, carried: dict[int, int]) -> list[Rung]:
    rungs = []
    for rate, done in carried.items():
        lost: list[Exchange] = [(i % 10 * S, None, "connect") for i in range(10 * (rate - done))]
        rungs.append(Rung(rate, opened(make_run(tmp_path / str(rate), steady(done) + lost))))
    return rungs


def test_knee_is_the_last_rate_before_the_first_loss(tmp_path: Path, make_run: MakeRun) -> None:
    # 40/s carries everything again, but lies beyond a rate that did not: not a knee.
    rungs = ladder(tmp_path, make_run, {10: 10, 20: 20, 30: 25, 40: 40})
    assert measure("knee_rps", rungs, {}) == 20
    assert measure("peak_rps", rungs, {}) == 40
    assert measure("plateau_rps", rungs, {"from_rate": 30}) == pytest.approx(32.5)
    assert measure("peak_goodput_mbps", rungs, {}) == pytest.approx(40 * 1283 * 8 / 1e6)
    assert measure("overload_response_s", rungs, {}) == pytest.approx(0.005)


def test_a_sweep_that_never_carries_has_no_knee(tmp_path: Path, make_run: MakeRun) -> None:
    rungs = ladder(tmp_path, make_run, {20: 10, 30: 10})
    assert measure("knee_rps", rungs, {}) is None
    assert measure("overload_response_s", rungs, {}) is None


def test_ratio_of_losses(tmp_path: Path, make_run: MakeRun) -> None:
    rungs = ladder(tmp_path, make_run, {20: 10, 40: 30})
    by_queue = [Rung(100, rungs[0].tables), Rung(400, rungs[1].tables)]
    assert measure("ratio", by_queue, {"of": "transaction_loss_share"}) == pytest.approx(0.5)
    assert measure("ratio", by_queue[:1], {"of": "transaction_loss_share"}) is None
    nothing_lost = ladder(tmp_path / "b", make_run, {20: 20, 40: 40})
    assert measure("ratio", nothing_lost, {"of": "transaction_loss_share"}) is None
