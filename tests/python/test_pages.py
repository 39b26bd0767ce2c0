"""Pages of browsing users: simulated, recorded, and summed up for ``airperf run``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airperf import _core
from airperf.analysis.summary import summary
from airperf.analysis.tables import load
from airperf.records import open_run

TEXT = """
schema = 1
name = "classroom"
duration = "20s"
drain = "20s"
[link]
kind = "wifi"
[[client]]
kind = "browse"
count = 8
start = "random"
size = "lognormal(mean 10KiB, cv 1)"
embedded = "uniform(from 0, to 8)"
embedded_size = "exponential(mean 6KiB)"
think_time = "exponential(mean 2s)"
patience = "10s"
connections = 2
requests_per_connection = 50
"""


def test_the_summary_of_browsing_users_has_their_pages(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    _core.run_sim(TEXT, "classroom.toml", [], 1, 0, 0, str(folder), "analysis", False)
    finished = open_run(folder)
    values = summary(load(finished))
    pages = finished.table("pages")
    ended = pages["outcome"].cast(pl.String).value_counts()
    assert values["pages"] == {"incomplete": 0, "given_up": 0, "unfinished": 0} | dict(ended.iter_rows())
    complete = pages.filter(pl.col("done_ns").is_not_null())
    assert complete.height == values["pages"]["complete"] > 50
    times = (complete["done_ns"] - complete["due_ns"]) / 1e6
    assert values["page_ms"]["mean"] == pytest.approx(times.mean())
    assert 0 < values["page_ms"]["p50"] < values["page_ms"]["p95"] <= values["page_ms"]["p99"]
    assert finished.manifest.totals["counts"]["pages"] == complete.height + values["pages"]["given_up"]
