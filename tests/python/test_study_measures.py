"""Measures of experiments two to five: fairness, aborted transfers, retransmissions, gains."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf import _core
from airperf.analysis import gains, retransmissions, sharing
from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES, Rung
from airperf.analysis.tables import Tables, load
from airperf.analysis.view import StudyView
from airperf.records import open_campaign, open_run
from airperf.scenario import find_scenario

MakeRun = Callable[..., Path]
MS = 1_000_000
S = 1_000_000_000


def run(folder: Path, name: str, settings: list[tuple[str, str]], level: str = "analysis") -> Tables:
    text, _ = find_scenario(name)
    _core.run_sim(text, name, settings, 1, 0, 0, str(folder), level, False)
    return load(open_run(folder))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two overloaded clients for 4 s with every packet recorded."""
    folder = tmp_path_factory.mktemp("two") / "run"
    run(folder, "two-clients-overload", [("duration", "4s"), ("drain", "2s")], "full")
    return folder


def value(name: str, tables: Tables, **parameters: Any) -> float | None:
    return RUN_MEASURES[name](tables, parameters)


def shared(tables: Tables, counts: dict[int, int]) -> Tables:
    """The same run with so many exchanges completed by each client station."""
    clients = [client for client, count in counts.items() for _ in range(count)]
    times = pl.DataFrame({"client": clients}, schema={"client": pl.UInt16}).with_columns(
        due_ns=pl.lit(0, pl.UInt64),
        done_ns=pl.lit(MS, pl.UInt64),
        response_bytes=pl.lit(1283, pl.UInt64),
        error=pl.lit(None, pl.String),
    )
    return Tables(tables.manifest, {**tables.frames, "exchanges": times})


@pytest.mark.parametrize(
    ("counts", "jain", "ratio", "first"),
    [
        ({1: 50, 2: 50}, 1.0, 1.0, 1.0),
        ({1: 100}, 0.5, 0.0, None),
        ({2: 100}, 0.5, 0.0, 0.0),
        ({1: 30, 2: 10}, 0.8, 1 / 3, 3.0),
        ({}, None, None, None),
    ],
)
def test_jains_index_has_its_closed_forms(
    two: Path, counts: dict[int, int], jain: float | None, ratio: float | None, first: float | None
) -> None:
    tables = shared(load(open_run(two)), counts)
    assert value("jain", tables) == pytest.approx(jain)
    assert value("least_to_most", tables) == pytest.approx(ratio)
    assert value("first_to_others", tables) == pytest.approx(first)


def test_shares_over_time_add_up_to_what_was_carried(two: Path) -> None:
    tables = load(open_run(two))
    found = sharing.shares_over_time(tables, bin_s=1.0)
    assert found["client"].unique().sort().to_list() == ["client-1", "client-2"]
    assert float(found["rps"].sum()) == pytest.approx(tables.completed.height)


def test_the_retransmission_table_counts_what_was_on_the_air(two: Path) -> None:
    tables = load(open_run(two))
    counts = retransmissions.captured(tables)
    counts = counts.with_columns(pl.col("kind").cast(pl.String).replace("get", "request"))
    columns = ("segments", "tcp_retransmissions", "mac_retransmissions")
    packets = pl.read_parquet(two / "packets.parquet").filter(pl.col("attempts") > 0)
    for kind, segments, again, repeated in counts.group_by("kind").agg(pl.col(columns).sum()).iter_rows():
        sent = packets.filter(pl.col("kind").cast(pl.String) == kind)
        repeats = int((sent["attempts"].cast(pl.Int64) - 1).sum())
        assert segments == sent.height, f"{kind}: every packet that was on the air is in the capture"
        # What a queue refused first is new on the air; a frame that collided is heard by nobody.
        assert again <= int(sent["retransmission"].sum())
        assert 0.7 * repeats <= repeated <= repeats
    titles, rows = retransmissions.table({"100/s": tables})
    assert titles == ["client-1, 100/s", "client-2, 100/s"]
    assert rows[0]["kind"] == "SYN"
    assert all(len(row["cells"]) == 2 for row in rows)


def test_aborted_transfers_are_counted_with_what_they_cost(tmp_path: Path, make_run: MakeRun) -> None:
    good = [(i * S, i * S + 5 * MS, None) for i in range(8)]
    lost = [(8 * S, None, "receive"), (9 * S, None, "connect")]
    tables = load(open_run(make_run(tmp_path / "a", [*good, *lost])))
    assert value("aborted_share", tables) == pytest.approx(0.2)
    assert value("aborted_share", tables, phase="receive") == pytest.approx(0.1)
    assert value("aborted_packets", tables) == 10
    assert value("aborted_packet_share", tables) == pytest.approx(0.2)
    clean = load(open_run(make_run(tmp_path / "b", good)))
    assert value("aborted_share", clean) == 0
    assert value("aborted_packets", clean) is None


def test_the_network_layer_carries_goodput_and_headers(tmp_path: Path) -> None:
    tables = run(
        tmp_path / "run", "bai2006-e1", [("duration", "4s"), ("drain", "0s"), ("client.size", "32KiB")]
    )
    network, goodput = value("network_mbps", tables), value("goodput_mbps", tables)
    assert network is not None
    assert goodput is not None
    # 23 data segments with 52 octets of headers, acknowledgements of 52 for nearly all, nine small packets.
    assert 1.07 < network / goodput < 1.10


def test_extremes_and_means_over_levels(tmp_path: Path, make_run: MakeRun) -> None:
    rungs = []
    for rate in (10, 20, 40):
        done = [(i * S // rate, i * S // rate + 5 * MS, None) for i in range(rate * 10)]
        rungs.append(Rung(rate, load(open_run(make_run(tmp_path / str(rate), done)))))
    of = {"of": "carried_rps"}
    assert SWEEP_MEASURES["lowest"](rungs, of) == 10
    assert SWEEP_MEASURES["highest"](rungs, of) == 40
    assert SWEEP_MEASURES["average"](rungs, {**of, "from_level": 20}) == 30
    assert SWEEP_MEASURES["ratio"](rungs, {**of, "level": 20}) == 2
    # Offered in proportion to the level: 20 is carried, 40 is not when 2/s are asked for each unit.
    assert SWEEP_MEASURES["knee_rps"](rungs, {"offered_per_level": 1}) == 40
    assert SWEEP_MEASURES["knee_rps"](rungs, {"offered_per_level": 2}) is None


@pytest.mark.parametrize("testbed", ["sim", "emu"])
def test_gains_and_points_are_paired_by_repetition(tmp_path: Path, make_run: MakeRun, testbed: str) -> None:
    points = []
    for variant, factor in (("without", 1), ("with", 2)):
        for repetition, rate in enumerate((10, 20, 40)):
            rate *= factor  # noqa: PLW2901 - the remedy doubles whatever the repetition had
            done = [(i * S // rate, i * S // rate + 5 * MS, None) for i in range(rate * 10)]
            run_name = f"{variant}{repetition}"
            # An emulated repetition differs in its seed.
            own = {"repetition": repetition} if testbed == "sim" else {"seed": 1 + repetition}
            make_run(tmp_path / run_name, done, testbed=testbed, **own)
            points.append({"variant": variant, "run": run_name, "repetition": repetition})
    common = {"experiment": "E1", "testbed": testbed, "state": "done", "why": "", "factors": {"rate": 10}}
    index = {
        "schema": 1,
        "points": [{**common, "id": p["run"], "key": p["run"], **p} for p in points],
    }
    (tmp_path / "study.json").write_text(json.dumps(index))
    view = StudyView(open_campaign(tmp_path))
    asked = {"of": "carried_rps", "variant": "with", "to": "without", "at": {"rate": 10}, "testbed": testbed}
    found = gains.ratio(view, asked)
    assert (found.mean, found.low, found.high, found.n) == pytest.approx((2, 2, 2, 3))
    # From twice as much to as much as without: all of it.
    asked |= {"variant": "without", "beyond": "with"}
    saved = gains.points(view, asked)
    assert (saved.mean, saved.low, saved.high, saved.n) == pytest.approx((100, 100, 100, 3))
    assert gains.points(view, asked | {"beyond": "absent"}).n == 0


def test_flows_streams_and_pages_are_measured_where_a_run_has_them(tmp_path: Path, make_run: MakeRun) -> None:
    tables = load(open_run(make_run(tmp_path / "run", [(0, 5 * MS, None), (5 * S, 6 * S, None)])))
    for name in ("flow_goodput_mbps", "streams_playable_share", "page_time_ms", "pages_in_time_share"):
        assert value(name, tables) is None
    flows = pl.DataFrame(
        {
            "group": [0, 0, 1, 2],
            "to": [1, 1, 0, 1],
            "start_ns": [0, 0, 0, 0],
            "end_ns": [10 * S] * 4,
            "bytes_in_time": [500_000, 160_000, 500_000, 1_250_000],
            "playable": [True, False, True, None],
        }
    )
    pages = pl.DataFrame(
        {
            "client": [1, 1, 1, 1],
            "due_ns": [0, S, 2 * S, 11 * S],
            "done_ns": [2 * S, 13 * S, None, 12 * S],
            "outcome": ["complete", "complete", "given_up", "complete"],
        }
    )
    frames = {**tables.frames, "flows": flows, "pages": pages}
    tables = Tables(tables.manifest, frames)
    assert value("flow_goodput_mbps", tables) == pytest.approx(0.4 + 0.128 + 0.4 + 1)
    assert value("streams_playable_share", tables) == 0.5, "audio and video of a stream, or nothing"
    assert value("streams_playable_share", tables, stations="server") == 1
    assert value("page_time_ms", tables) == pytest.approx((2000 + 12000) / 2)
    assert value("page_time_p95_ms", tables) == pytest.approx(11500)
    assert value("pages_in_time_share", tables) == pytest.approx(1 / 3)
    assert value("stations_rps", tables, stations="cli", from_s=4, to_s=8) == 0.25
    assert value("stations_rps", tables, stations="other", from_s=4, to_s=8) == 0


def test_the_most_that_is_carried_ends_at_the_first_failure(tmp_path: Path, make_run: MakeRun) -> None:
    rungs = []
    for level, lost in ((1, 0), (2, 1), (3, 0)):
        done = [(i * S, None if i < lost else i * S + MS, "connect" if i < lost else None) for i in range(10)]
        rungs.append(Rung(level, load(open_run(make_run(tmp_path / str(level), done)))))
    found = SWEEP_MEASURES["most"](rungs, {"of": "carried_rps", "share": 1.0})
    assert found == 1
    assert SWEEP_MEASURES["most"](rungs, {"of": "carried_rps", "share": 0.9}) == 3
