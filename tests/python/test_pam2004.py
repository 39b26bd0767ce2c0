"""The study of pages over GPRS: its link, its timeline, its layers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from airperf.analysis import beside, tables, visits
from airperf.analysis.measures import RUN_MEASURES
from airperf.analysis.view import StudyView
from airperf.records import open_campaign, open_run
from airperf.scenario import installed

Call = Callable[..., Any]


def scenario(name: str) -> dict[str, Any]:
    return tomllib.loads((installed("scenarios") / f"{name}.toml").read_text())


def test_files_and_pages_go_over_the_same_link() -> None:
    assert scenario("pam2004")["link"] == scenario("pam2004-file")["link"]
    assert scenario("pam2004")["tcp"] == scenario("pam2004-file")["tcp"]


@pytest.fixture
def load(call: Call, tmp_path: Path) -> Callable[..., Any]:
    """One load of mail; settings after ``--set``."""

    def run(*settings: str) -> Any:
        out = tmp_path / "-".join(["run", *(one.partition("=")[2] for one in settings)]).replace("/", "_")
        chosen = ["browser.page=pages/pam2004-mail.toml", *settings]
        words = [word for one in chosen for word in ("--set", one)]
        answer = call("run", "pam2004", "--testbed", "sim", "--out", str(out), "--json", *words)
        assert answer.code == 0, answer.err
        return tables.load(open_run(Path(answer.json["run"])))

    return run


def test_a_timeline_has_every_object_once_and_ends_with_the_page(load: Callable[..., Any]) -> None:
    run = load()
    spans = visits.timeline(run)
    assert spans.filter(pl.col("what") == "receiving").height == 11
    assert spans.filter(pl.col("what") == "name").height == 4
    assert spans["start_s"].min() == 0.0
    page_s = float(run.page_ms[0]) / 1e3
    assert spans["end_s"].max() == pytest.approx(page_s, abs=1e-9)
    busy = spans.filter(pl.col("what").is_in(["waiting", "receiving"])).sort("row", "start_s", "end_s")
    overlaps = busy.with_columns(before=pl.col("end_s").shift(1).over("row")).filter(
        pl.col("before") > pl.col("start_s")
    )
    assert overlaps.is_empty(), "without pipelining a connection does one thing at a time"


def test_a_proxy_that_pushes_leaves_one_connection_and_one_request(load: Callable[..., Any]) -> None:
    spans = visits.timeline(load("browser.proxy=dual", "browser.push=true"))
    assert spans["row"].drop_nulls().unique().to_list() == [0]
    assert spans.filter(pl.col("what") == "waiting").height == 1
    assert spans.filter(pl.col("what") == "pushed").height == 10


def test_the_study_shows_layers_savings_and_a_timeline(call: Call, tmp_path: Path) -> None:
    words = (
        "study",
        "pam2004",
        "--only",
        "files",
        "--only",
        "pages",
        "--testbed",
        "sim",
        "--quick",
        "--json",
    )
    answer = call(*words, "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    view = StudyView(open_campaign(tmp_path / "out"))
    figures = {figure["name"]: figure for figure in view.figures}
    shown = visits.layers(view, figures["layers"])
    assert [page.label for page in shown] == ["mail", "yahoo", "amazon", "cnn"]
    for page in shown:
        means = [interval.mean for interval in page.seconds if interval.mean is not None]
        assert means == sorted(means, reverse=True), f"{page.label}: every layer saves"
    columns, rows = visits.savings(view, figures["octets"])
    assert columns == ["mail", "yahoo", "amazon", "cnn"]
    compression = next(row for row in rows if row["label"] == "compression")
    assert all(cell["kib_less"] > 0.05 for cell in compression["cells"])
    report = (tmp_path / "out" / "report.html").read_text()
    assert all(f'id="{name}-' in report for name in ("layers", "timeline-cnn", "options-mail"))
    fitted = {row["id"]: row["within"] for row in answer.json["rows"] if row["id"].startswith("files.")}
    assert fitted == {"files.rate_1": True, "files.rate_5": True, "files.rate_100": True}
    row_of = {row["id"]: row for row in answer.json["rows"]}
    saving = {name: row["ours"] for name, row in row_of.items() if row["published_text"].startswith("save")}
    assert len(saving) == 16
    # Look-ups are a hundredth of cnn's load, and two loads differ by as much.
    assert all(ratio < 1 for name, ratio in saving.items() if name != "pages.dns_cnn"), saving
    assert row_of["pages.six_connections"]["ours"] < 1
    points = [row["ours"] for name, row in row_of.items() if name.startswith("pages.layer_")]
    order = sorted(range(4), key=lambda place: -points[place])
    assert order == [1, 0, 2, 3], "session, application, transport, link"


def test_a_quick_run_loads_the_smallest_page_three_times(call: Call) -> None:
    answer = call(
        "study", "pam2004", "--only", "browser", "--testbed", "emu", "--quick", "--dry-run", "--json"
    )
    if answer.code == 4:
        pytest.skip(answer.err)
    assert len(answer.json["points"]) == 3


def test_agreement_is_told_of_means_and_only_where_both_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RUN_MEASURES, "of", lambda run, _: run)
    values = {("a", "emu", 1.0): [12.0, 14.0], ("a-model", "sim", 1.0): [10.0], ("a", "emu", 2.0): [11.0]}
    view: Any = SimpleNamespace(
        runs=lambda variant, testbed, page: values.get((variant, testbed, page), []),
        campaign=SimpleNamespace(select=lambda *_, page: range(3 if page == 1.0 else 1)),
    )
    levels = [{"at": 1, "label": "one"}, {"at": 2, "label": "two"}]
    series = [
        {"variant": "a", "beside": "a-model", "label": "A"},
        {"variant": "b", "beside": "c", "label": "B"},
    ]
    item = {"of": "of", "factor": "page", "limit": 0.2, "levels": levels, "series": series}
    columns, [row] = beside.agreement(view, item)
    assert (columns, row["label"]) == (["one", "two"], "A"), "what was not measured has no row"
    first, second = row["cells"]
    assert first["difference"] == pytest.approx(0.3)
    assert (first["within"], first["invalid"]) == (False, 1)
    assert (second["difference"], second["within"]) == (None, None)
