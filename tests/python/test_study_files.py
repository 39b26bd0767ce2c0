"""Study files: parts, scenarios and record levels of variants, figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airperf.errors import ScenarioProblems
from airperf.experiment import load_study
from airperf.scenario import installed

Call = Callable[..., Any]

HEAD = """
schema = 1
name = "parted"
title = "A study in parts"
scenario = "bai2006-e1"
parts = ["B", "A"]

[findings]
"What it explains" = ["Everything."]
"""

PART = """
[[experiment]]
id = "{id}"
title = "Part {id}"

[[experiment.variant]]
name = "{id}-sweep"
testbeds = ["sim"]
factor = "rate"
key = "client.rate"
levels = ["10/s", "20/s"]
set = {{ duration = "2s", drain = "1s" }}
{more}

[[experiment.figure]]
name = "{id}-panels"
kind = "panels"
x = "rate"
panels = ["transactions", "fairness"]
series = [{{ variant = "{id}-sweep", label = "sim" }}]

[[experiment.figure]]
name = "{id}-table"
kind = "retransmissions"
variant = "{id}-sweep"
"""

ROW = """
[[row]]
id = "{id}.carried"
what = "Carried at 10/s"
unit = "1/s"
published = 10
compare = "near"
tolerance = 0.1
measure = "carried_rps"
variant = "{id}-sweep"
at = {{ rate = 10 }}
headline = true
"""


@pytest.fixture
def parted(tmp_path: Path) -> Path:
    """A study of two experiments, of which B has a wire and records every packet."""
    folder = tmp_path / "parted"
    (folder / "experiments").mkdir(parents=True)
    (folder / "targets").mkdir()
    (folder / "study.toml").write_text(HEAD, encoding="utf-8")
    for name, more in (("A", ""), ("B", 'scenario = "two-clients-overload"\nlevel = "full"')):
        (folder / "experiments" / f"{name}.toml").write_text(
            PART.format(id=name, more=more), encoding="utf-8"
        )
        (folder / "targets" / f"{name}.toml").write_text(ROW.format(id=name), encoding="utf-8")
    return folder


def test_parts_are_read_in_the_order_of_the_study(parted: Path) -> None:
    study = load_study(str(parted))
    assert study.experiments() == ["B", "A"]
    assert [row["id"] for row in study.targets] == ["B.carried", "A.carried"]
    assert study.titles == {"A": "Part A", "B": "Part B"}
    assert [figure["experiment"] for figure in study.figures] == ["B", "B", "A", "A"]


def test_a_variant_may_have_its_own_scenario_and_level(call: Call, parted: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = call("study", str(parted), "--testbed", "sim", "--json", "--out", str(out))
    assert answer.code == 0, answer.err
    found = {row["id"]: row["ours"] for row in answer.json["rows"]}
    assert found["A.carried"] == 10
    assert found["B.carried"] == pytest.approx(20, abs=1), "its scenario has two clients"
    index = json.loads((out / "study.json").read_text())
    assert sorted(index["scenarios"]) == ["bai2006-e1.toml", "two-clients-overload.toml"]
    captures = {
        entry["variant"] for entry in index["points"] if (out / entry["run"] / "air.pcapng").is_file()
    }
    assert captures == {"B-sweep"}
    page = (out / "report.html").read_text()
    assert "Part B" in page
    assert "SYN-ACK" in page, "the table of retransmissions is there where packets were recorded"
    assert "Everything." in page


def test_every_experiment_can_be_made_alone(call: Call, parted: Path, tmp_path: Path) -> None:
    answer = call(
        "study", str(parted), "--only", "A", "--testbed", "sim", "--json", "--out", str(tmp_path / "a")
    )
    assert [row["id"] for row in answer.json["rows"]] == ["A.carried"]
    assert "Part B" not in (tmp_path / "a" / "report.html").read_text()


def test_an_edited_part_is_another_study(parted: Path) -> None:
    before = load_study(str(parted)).sha256
    part = parted / "targets" / "A.toml"
    part.write_text(part.read_text().replace("0.1", "0.2"), encoding="utf-8")
    assert load_study(str(parted)).sha256 != before


def test_fault_38_a_problem_in_a_part_is_told_with_its_file_and_line(parted: Path) -> None:
    part = parted / "experiments" / "A.toml"
    part.write_text(part.read_text().replace("levels =", "level_s ="), encoding="utf-8")
    with pytest.raises(ScenarioProblems) as caught:
        load_study(str(parted))
    assert "parted/experiments/A.toml" in str(caught.value)
    assert any(problem.line for problem in caught.value.problems)


def test_fault_38_rows_are_checked_before_anything_runs(parted: Path) -> None:
    part = parted / "targets" / "A.toml"
    text = part.read_text().replace("carried_rps", "carried_rsp").replace("A-sweep", "A-swep")
    part.write_text(text.replace("tolerance = 0.1\n", ""), encoding="utf-8")
    (parted / "targets" / "B.toml").write_text(
        ROW.format(id="B").replace('"carried_rps"', '"points"').replace('"near"', '"nearly"'),
        encoding="utf-8",
    )
    with pytest.raises(ScenarioProblems) as caught:
        load_study(str(parted))
    said = {(one.key, one.message) for one in caught.value.problems}
    assert said == {
        ("row.0.compare", "unknown compare 'nearly'"),
        *(("row.0", f"key '{key}' is missing") for key in ("of", "to", "beyond")),
    }
    (parted / "targets" / "B.toml").unlink()
    with pytest.raises(ScenarioProblems) as caught:
        load_study(str(parted))
    lines = {(one.line, one.message, one.hint) for one in caught.value.problems}
    assert lines == {
        (2, "key 'tolerance' is missing", "row A.carried needs it"),
        (8, "unknown measure 'carried_rsp'", "did you mean carried_rps?"),
        (9, "unknown variant 'A-swep'", "did you mean A-sweep?"),
    }


def test_emulated_variants_name_what_they_are_compared_with() -> None:
    for folder in installed("studies").glob("*/"):
        study = load_study(str(folder))
        by_name = {variant.name: variant for variant in study.variants}
        gains = [row for figure in study.figures if figure["kind"] == "gains" for row in figure["series"]]
        compared = {
            name for row in gains if row.get("testbed") == "emu" for name in (row["variant"], row["to"])
        }
        shown = [one for figure in study.figures for one in figure.get("series", ()) if "beside" in one]
        in_figures = {one["variant"]: one["beside"] for one in shown}
        for variant in study.variants:
            if "emu" not in variant.testbeds or (not variant.beside and variant.name in compared):
                continue
            beside = by_name[variant.beside or in_figures[variant.name]]
            assert beside.testbeds == ("sim",)
            # Which program plays the clients is nothing that a simulation could have.
            shared = {key: value for key, value in variant.settings if key != "emu.client_program"}
            assert dict(beside.settings) == shared
            levels = {choice.text for choice in beside.factors[0].choices}
            assert {choice.text for choice in variant.factors[0].choices} <= levels
