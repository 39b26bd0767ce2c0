"""The results of an experiment as files and as one page: design, table, a figure for each measure, knees.

Leaves out numbers of its own: every value comes from ``analysis``.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from airperf.analysis.curves import panels
from airperf.analysis.quantities import quantity
from airperf.analysis.results import KNEE, SWEEP, Levels, Result, table
from airperf.analysis.view import StudyView
from airperf.files import write_atomic
from airperf.plots import experiment as plots
from airperf.report.page import Figure, render


def write_tables(folder: Path, found: list[Result]) -> None:
    """Writes ``results.parquet`` and ``results.csv``."""
    frame = table(found)
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_atomic(folder / "results.parquet", buffer.getvalue())
    write_atomic(folder / "results.csv", frame.write_csv())


def experiment_report(view: StudyView, found: Sequence[Result], path: Path | None = None) -> Path:
    """Writes the report of an experiment's folder and gives its path."""
    raw = view.campaign.raw
    described = raw["experiment"]
    sweep = [result for result in found if result.part == SWEEP]
    knees = [result for result in found if result.part == KNEE]
    names = list(dict.fromkeys(name for result in sweep for name, _, _ in result.levels))
    measures = [name for name in described["measures"] if any(r.measure == name for r in sweep)]
    by_levels: dict[Levels, dict[str, Result]] = {}
    for result in sweep:
        by_levels.setdefault(result.levels, {})[result.measure] = result
    content = {
        "study": raw,
        "described": described,
        "factors": [factor for factor in described["factors"] if factor["variant"] == SWEEP],
        "names": names,
        "measures": [(one.name, one.what, one.unit) for name in measures if (one := quantity(name))],
        "rows": [(_texts(levels), [row.get(name) for name in measures]) for levels, row in by_levels.items()],
        "knees": [(_texts(knee.levels), knee) for knee in knees],
        "knee_names": list(dict.fromkeys(name for knee in knees for name, _, _ in knee.levels)),
        "unusable": view.unusable,
        "missing": [point for point in view.campaign.points if point.state != "done"],
        "points": raw["points"],
        "seeds": sorted({int(point["seed"]) for point in raw["points"]}),
    }
    drawn = figures(view, sweep, knees)
    return render("experiment.html.j2", path or view.campaign.folder / "report.html", content, drawn)


def _texts(levels: Levels) -> dict[str, str]:
    return {name: text for name, _, text in levels}


def figures(view: StudyView, sweep: Sequence[Result], knees: Sequence[Result]) -> list[Figure]:
    """A figure for each measure that the design puts on an axis."""
    raw = view.campaign.raw
    described = raw["experiment"]
    factors = [factor for factor in described["factors"] if factor["variant"] == SWEEP]
    design = str(described["designs"].get(SWEEP, ""))
    marks = [
        (knee.value.low, knee.value.high)
        for knee in knees
        if knee.value.low is not None and knee.value.high is not None
    ]
    along = described["knee"]["factor"] if described["knee"] else ""
    drawn = []
    for name in described["measures"]:
        found = quantity(name)
        rows = [result for result in sweep if result.measure == name]
        shown = panels(rows, factors, design)
        if found is None or not shown:
            continue
        keys = {str(key) for factor in factors[:1] for key in factor["keys"]}
        here = marks if described["knee"] and keys & set(described["knee"]["keys"]) else []
        over = "median" if found.percentile else "mean"
        left_out = sum(panel.left_out for panel in shown)
        caption = f"{found.what[0].upper()}{found.what[1:]}: {over} over repetitions with its 95% interval."
        caption += f" Shaded: the knee in {along} with its interval, a colour for each line." if here else ""
        caption += f" {left_out} more combinations are in the table." if left_out else ""
        label = f"{name} ({found.unit})"
        svg = plots.measure(name.replace(".", "-"), label, shown, here)
        drawn.append(Figure(name.replace(".", "-"), svg, caption, str(raw["command"])))
    return drawn
