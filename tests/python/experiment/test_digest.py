"""What a run sums itself is what its tables say, and a run without tables says what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from airperf.analysis import digest as digests
from airperf.analysis.tables import load
from airperf.errors import RecordError
from airperf.records import open_run

Call = Callable[..., Any]

SITUATIONS = {
    "easy": ("client.rate=40/s",),
    "overload": ("client.rate=140/s", "client.timeout=1s"),
    "several requests": ("client.requests_per_connection=5", "client.rate=20/s"),
    "large, aborted": ("client.size=64KiB", "client.rate=20/s", "client.timeout=500ms"),
    "two clients": ("client.count=2", "client.rate=60/s"),
    "nothing done": ("client.rate=1/s", "link.frame_error=1", "duration=2s"),
}


@pytest.mark.parametrize("settings", SITUATIONS.values(), ids=SITUATIONS)
def test_the_summary_is_what_the_tables_say(call: Call, settings: tuple[str, ...]) -> None:
    words = [word for setting in ("duration=5s", "drain=3s", *settings) for word in ("--set", setting)]
    for level in ("analysis", "summary"):
        answer = call("run", "bai2006-e1", *words, "--level", level, "--out", level)
        assert answer.code == 0, answer.err
    tables = load(open_run("analysis"))
    seen, expected = asdict(load(open_run("summary")).digest), asdict(digests.from_tables(tables))
    assert tables.summed is not None
    assert asdict(tables.summed) == seen, "the level changes nothing"
    for name, value in expected.items():
        if isinstance(value, dict) and value.get("mean") is not None:
            assert seen[name] == pytest.approx(value, rel=1e-12), name
        else:
            assert seen[name] == value, name
    assert {path.name for path in Path("summary").iterdir()} == {"manifest.json", "summary.json"}


def test_a_run_without_tables_says_what_to_do(call: Call) -> None:
    call("run", "bai2006-e1", "--set", "duration=1s", "--level", "summary", "--out", "run")
    with pytest.raises(RecordError, match="has no table 'exchanges': record it at level \"analysis\""):
        _ = load(open_run("run")).exchanges
    answer = call("report", "run")
    assert answer.code == 2
    assert 'record it at level "analysis"' in answer.err


def test_fault_07_a_damaged_summary_is_refused(call: Call) -> None:
    call("run", "bai2006-e1", "--set", "duration=1s", "--level", "summary", "--out", "run")
    path = Path("run/summary.json")
    path.write_text(path.read_text().replace('"carried": 1', '"carried": 2'))
    with pytest.raises(RecordError, match="checksum"):
        load(open_run("run"))
