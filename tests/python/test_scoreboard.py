"""Verdicts of scoreboard rows."""

from __future__ import annotations

import tomllib

import pytest

from airperf.analysis.intervals import Interval
from airperf.analysis.measures import RUN_MEASURES, SWEEP_MEASURES
from airperf.analysis.scoreboard import COMPARISONS, Row, verdict
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
        study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
        targets = tomllib.loads((folder / "targets.toml").read_text(encoding="utf-8"))
        variants = {v["name"] for e in study["experiment"] for v in e["variant"]}
        assert targets["row"]
        seen = set()
        for row in targets["row"]:
            assert row["id"] not in seen
            seen.add(row["id"])
            assert row["measure"] in RUN_MEASURES.keys() | SWEEP_MEASURES.keys()
            assert row["variant"] in variants
            assert row.get("compare", "near") in COMPARISONS
            assert row["what"]
            assert row["unit"]
            if row.get("compare") == "near":
                assert row["tolerance"] > 0
