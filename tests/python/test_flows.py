"""Flows: the summary of a run that has them, and the search for the largest number of streams."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airperf.analysis.flows import most_playable, playable
from airperf.analysis.tables import load
from airperf.records import open_run

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

SCENARIO = """
schema = 1
name = "flows"
duration = "5s"
drain = "1s"
[link]
kind = "wifi"
retry_limit = 16
[[flow]]
kind = "stream"
count = 2
start = "random"
[[flow]]
kind = "tcp"
size = "300kB"
station = "bulk"
"""


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 8, 9, 64])
@pytest.mark.parametrize("most", [1, 8, 9, 64])
def test_the_largest_number_of_streams_is_found_and_every_number_asked_once(limit: int, most: int) -> None:
    asked: list[int] = []

    def all_play(count: int) -> bool:
        asked.append(count)
        return count <= limit

    assert most_playable(all_play, most) == min(limit, most)
    assert len(asked) == len(set(asked)) <= 14
    assert all(1 <= count <= most for count in asked)


def test_the_summary_tells_goodput_delay_and_playable_streams(airperf: Cli, tmp_path: Path) -> None:
    (tmp_path / "flows.toml").write_text(SCENARIO)
    answer = airperf("run", "flows.toml", "--level", "analysis", "--out", "out", "--json")
    assert answer.returncode == 0, answer.stderr
    summary: dict[str, Any] = json.loads(answer.stdout)["summary"]
    flows = summary["flows"]
    kinds = [(flow["kind"], flow["group"]) for flow in flows["each"]]
    assert kinds == [("video", 0), ("audio", 0), ("video", 1), ("audio", 1), ("tcp", 2)]
    assert flows["streams"] == {"offered": 2, "playable": 2}
    video, transfer = flows["each"][0], flows["each"][4]
    assert video["missing"] == 0.0
    assert 1.0 < video["delay_ms"]["p50"] < video["delay_ms"]["p99"] < 200.0
    assert video["delay_variation_ms"]["mean"] > 0.0
    assert (transfer["missing"], transfer["delay_ms"]) == (None, None)
    assert transfer["goodput_bps"] == pytest.approx(300_000 * 8 / 5)
    assert summary["goodput_bps"] == 0
    table = airperf("run", "flows.toml", "--level", "analysis", "--out", "out2")
    assert "streams playable" in table.stdout
    assert "2 of 2" in table.stdout


def test_the_network_of_the_study_carries_eight_streams(airperf: Cli, tmp_path: Path) -> None:
    # Cao, Bai & Williamson 2005: 8 clients with good quality, 9 overload the network.
    def all_play(count: int) -> bool:
        out = f"streams-{count}"
        options = ["--set", f"flow.count={count}", "--set", "duration=20s", "--level", "analysis"]
        answer = airperf("run", "streams", "--out", out, *options)
        assert answer.returncode == 0, answer.stderr
        tables = load(open_run(tmp_path / out))
        assert tables.flows is not None
        return bool(playable(tables.flows)["playable"].all())

    assert most_playable(all_play, 10) == 8


def test_the_emulated_testbed_says_that_it_has_no_flows(airperf: Cli, tmp_path: Path) -> None:
    (tmp_path / "flows.toml").write_text(SCENARIO)
    answer = airperf("run", "flows.toml", "--testbed", "emu", "--out", "out")
    assert answer.returncode == 4
    assert not (tmp_path / "out").exists()


def test_a_bad_apple_spoils_the_others_though_their_channel_is_perfect(airperf: Cli, tmp_path: Path) -> None:
    def good(out: str, *options: str) -> pl.DataFrame:
        answer = airperf("run", "bad-apple", "--level", "analysis", "--out", out, *options)
        assert answer.returncode == 0, answer.stderr
        return open_run(tmp_path / out).table("flows").filter(pl.col("group") < 4)

    spoilt, without = good("bad"), good("good", "--set", "flow.2.fade_error=0")
    assert without["playable"].all()
    assert not spoilt["playable"].any()
    # They lose nothing on the air: all of it is refused by the server's queue, behind the bad one's frames.
    assert spoilt["lost"].sum() == 0
    assert int(spoilt["bytes_in_time"].sum()) < 0.85 * int(without["bytes_in_time"].sum())
