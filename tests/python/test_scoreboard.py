"""Verdicts of scoreboard rows."""

from __future__ import annotations

import pytest

from airperf.analysis.intervals import Interval
from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES
from airperf.analysis.scoreboard import COMPARISONS, PAIRED, Row, verdict
from airperf.experiment import load_study
from airperf.plots.looks import PANELS
from airperf.report.study_figures import KINDS
from airperf.scenario import installed


@pytest.mark.parametrize(
    ("target", "ours", "within"),
    [
        ({"compare": "near", "published": 85, "tolerance": 0.1}, 93.5, True),
        ({"compare": "near", "published": 85, "tolerance": 0.1}, 93.6, False),
        ({"compare": "near", "published": 85, "tolerance": 0.1}, 76.4, False),
        ({"compare": "between", "published": 1.0, "range": [0.9, 1.0]}, 1.0, True),
        ({"compare": "between", "published": 1.0, "range": [0.9, 1.0]}, 1.01, False),
        ({"compare": "above", "published": 2}, 2.0, False),
        ({"compare": "above", "published": 2}, 2.1, True),
        ({"compare": "below", "published": 1}, 0.99, True),
        ({"compare": "below", "published": 1}, 1.0, False),
        ({"compare": "near", "published": 85, "tolerance": 0.1}, None, None),
        ({}, 3.0, None),
    ],
)
def test_verdict(target: dict[str, object], ours: float | None, within: bool | None) -> None:
    assert verdict(target, ours) is within


def test_an_unknown_comparison_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown comparison"):
        verdict({"compare": "roughly", "published": 1}, 1.0)


def test_a_row_has_the_shape_of_the_contract() -> None:
    target = {"id": "E1.x", "what": "X", "unit": "ms", "published": 10, "compare": "near", "tolerance": 0.1}
    row = Row(target, Interval(10.5, 10.0, 11.0, 5), True).json()
    assert row["id"] == "E1.x"
    assert {"what", "unit", "published", "tolerance", "ours", "low", "high", "n", "within"} <= row.keys()
    assert (row["ours"], row["low"], row["high"], row["n"], row["within"]) == (10.5, 10.0, 11.0, 5, True)


def test_every_target_names_a_known_measure_variant_and_comparison() -> None:
    for folder in installed("studies").glob("*/"):
        study = load_study(str(folder))
        variants = {v.name for v in study.variants}
        assert len(variants) == len(study.variants), "rows and figures name variants without their experiment"
        assert study.targets
        seen = set()
        for row in study.targets:
            assert row["id"] not in seen
            seen.add(row["id"])
            assert row["measure"] in RUN_MEASURES.keys() | SWEEP_MEASURES.keys() | PAIRED.keys(), row["id"]
            assert {row[key] for key in ("variant", "to", "beyond") if key in row} <= variants, row["id"]
            assert row.get("of", "jain") in RUN_MEASURES, row["id"]
            assert row.get("compare", "near") in COMPARISONS
            assert row["what"]
            assert row["unit"]
            if row.get("compare") == "near":
                assert row["tolerance"] > 0


def test_every_figure_names_a_known_kind_variant_and_panel() -> None:
    for folder in installed("studies").glob("*/"):
        study = load_study(str(folder))
        variants = {v.name for v in study.variants}
        names = [figure["name"] for figure in study.figures]
        assert len(names) == len(set(names))
        for figure in study.figures:
            assert figure["kind"] in KINDS
            used = [figure["variant"]] if "variant" in figure else []
            used += [one["variant"] for one in figure.get("series", ())]
            assert used, figure["name"]
            assert set(used) <= variants, figure["name"]
            assert set(figure.get("panels", ())) <= PANELS.keys(), figure["name"]
        for item in study.published:
            (figure,) = [f for f in study.figures if f["name"] == item["figure"]]
            assert item["panel"] in figure["panels"]
