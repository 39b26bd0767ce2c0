"""``airperf link show`` and scenarios driven by traces (fault 41)."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
TRACES = Path(__file__).parents[2] / "traces"


def test_show_says_what_is_in_a_trace(call: Call, tmp_path: Path) -> None:
    trace = tmp_path / "link.down"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 2001)) + "4000\n", encoding="ascii")
    answer = call("link", "show", str(trace), "--json")
    assert answer.code == 0
    (facts,) = json.loads(answer.out)["traces"]
    assert (facts["form"], facts["entries"], facts["duration_s"]) == ("opportunities", 2001, 4.0)
    assert facts["mean_bps"] == 2001 * 12_000 / 4
    assert facts["percentiles_bps"] == {"p5": 0, "p25": 0, "p50": 12_000, "p75": 12e6, "p95": 12e6}
    assert facts["longest_gap_s"] == 2.0
    (row,) = (line for line in call("link", "show", str(trace)).out.splitlines() if "opportunities" in line)
    shown = [cell.strip() for cell in row.split("│")]
    assert shown[4:11] == ["4", "6", "0", "0", "0.012", "12", "12"]


def per_second(text: str) -> list[int]:
    times = [int(line) for line in text.splitlines()]
    return [sum(1 for ms in times if s * 1000 < ms <= s * 1000 + 1000) for s in range(times[-1] // 1000)]


def test_a_series_of_rates_is_written_as_mahimahi_reads_it(call: Call, tmp_path: Path) -> None:
    rates, out = tmp_path / "rates.csv", tmp_path / "link.down"
    rates.write_text("time_s,rate_bps\n0,1.2e6\n2,6e6\n4,0\n5,2.4e6\n6,2.4e6\n", encoding="ascii")
    assert call("link", "export", str(rates), str(out)).code == 0
    assert per_second(out.read_text()) == [100, 100, 500, 500, 0, 200, 200]
    shown = [json.loads(call("link", "show", str(path), "--json").out)["traces"][0] for path in (rates, out)]
    assert shown[0]["mean_bps"] == shown[1]["mean_bps"]
    assert call("link", "export", str(rates), str(out), "--seconds", "3").code == 0
    assert per_second(out.read_text()) == [100, 100, 500]
    lone = tmp_path / "lone.csv"
    lone.write_text("time_s,rate_bps\n0,1e6\n", encoding="ascii")
    assert call("link", "export", str(lone), str(out), "--seconds", "60").code == 0
    assert len(out.read_text().splitlines()) == 5000


BUSY = """
schema = 1
name = "busy"
duration = "20s"
record = { level = "full" }
link = { kind = "trace", down = { trace = "link.down" }, up = { trace = "link.down" } }
[[flow]]
kind = "udp"
station = "client"
direction = "down"
rate = "20Mbit/s"
"""


def test_what_a_busy_link_delivered_is_the_trace_that_drove_it(call: Call, tmp_path: Path) -> None:
    shutil.copy(TRACES / "synthetic-lte.down", tmp_path / "link.down")
    (tmp_path / "busy.toml").write_text(BUSY, encoding="ascii")
    answer = call("run", str(tmp_path / "busy.toml"), "--testbed", "sim", "--out", str(tmp_path / "run"))
    assert answer.code == 0, answer.err
    out = tmp_path / "again.down"
    assert call("link", "export", str(tmp_path / "run"), str(out)).code == 0
    drove, again = (per_second(path.read_text())[:20] for path in (tmp_path / "link.down", out))
    # The end of the run is one more, or one less.
    assert max(abs(a - b) for a, b in zip(drove, again, strict=True)) <= 1, (drove, again)
    answer = call("link", "export", str(tmp_path / "run"), str(out), "--way", "up")
    assert answer.code == 2
    assert "less than 1500 bytes up" in answer.err


def test_fault_41_a_file_that_is_no_trace_is_named_with_its_line(call: Call, tmp_path: Path) -> None:
    bad = tmp_path / "bad.down"
    bad.write_text("1\n5\n4\n", encoding="ascii")
    answer = call("link", "show", str(bad))
    assert answer.code == 2
    assert f"{bad}:3:1: 4 ms comes after 5 ms" in answer.err
    assert call("link", "show", str(tmp_path / "nowhere")).code == 2


def test_the_installed_trace_scenario_runs_by_its_name_and_keeps_its_traces(
    call: Call, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    answer = call(
        "run", "lte-trace", "--set", "duration=4s", "--set", "drain=4s", "--out", str(out), "--json"
    )
    assert answer.code == 0, answer.err
    resolved = json.loads((out / "manifest.json").read_text())["scenario"]["resolved"]["link"]
    for way in ("down", "up"):
        copy = out / f"trace-{resolved[way]['sha256'][:16]}.txt"
        assert copy.read_bytes() == (TRACES / f"synthetic-lte.{way}").read_bytes()


def test_the_traces_are_what_their_program_makes(tmp_path: Path) -> None:
    shutil.copy(TRACES / "make.py", tmp_path)
    runpy.run_path(str(tmp_path / "make.py"), run_name="__main__")
    for name in ("synthetic-lte.down", "synthetic-lte.up", "synthetic-walk.ci"):
        if (tmp_path / name).read_bytes() != (TRACES / name).read_bytes():
            pytest.fail(f"traces/{name} is not what traces/make.py writes")
