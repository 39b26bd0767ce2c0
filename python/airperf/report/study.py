"""The report of a study: scoreboard, misses with reasons, figures, emulation against simulation, provenance.

Leaves out numbers of its own: every value comes from ``analysis``, every text about the study from its files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airperf.analysis.beside import emulated_against_simulated
from airperf.analysis.scoreboard import Row
from airperf.analysis.view import StudyView
from airperf.report.page import render
from airperf.report.study_figures import shown


def study_report(view: StudyView, rows: Sequence[Row], path: Path | None = None) -> Path:
    """Writes the report of an opened study and gives its path."""
    raw = view.campaign.raw
    judged = [row for row in rows if row.within is not None]
    sections = [_section(view, experiment, rows) for experiment in view.experiments]
    pictures = [item.figure for section in sections for item in section["shown"] if item.figure]
    content = {
        "study": raw,
        "sections": sections,
        "hits": sum(1 for row in judged if row.within),
        "judged": len(judged),
        "headline": [row.json() for row in rows if row.target.get("headline")],
        "emu": emulated_against_simulated(view).to_dicts(),
        "airtime_error_s": view.airtime_error_s,
        "unusable": view.unusable,
        "missing": [point for point in view.campaign.points if point.state != "done"],
        "points": raw["points"],
        "seeds": sorted({int(point["seed"]) for point in raw["points"]}),
        "repetitions": 1 + max((point.repetition for point in view.campaign.points), default=0),
    }
    return render("study.html.j2", path or view.campaign.folder / "report.html", content, pictures)


def _section(view: StudyView, experiment: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """What the page says about one experiment."""
    name = str(experiment["id"])
    mine = [row for row in rows if str(row.target["id"]).partition(".")[0] == name]
    return {
        "id": name,
        "title": str(experiment["title"]),
        "variants": [v for v in view.variants if v["experiment"] == name],
        "rows": [row.json() | {"tolerance_text": tolerance_text(row)} for row in mine],
        "misses": [row.json() for row in mine if row.within is False],
        "unanswered": [row.json() for row in mine if row.ours.mean is None and row.target.get("compare")],
        "shown": shown(view, name),
    }


def tolerance_text(row: Row) -> str:
    """How the row is compared, in a few characters."""
    target = row.target
    match target.get("compare"):
        case "near":
            return f"±{float(target['tolerance']):.0%}"
        case "between":
            low, high = target["range"]
            return f"{low:g} … {high:g}"
        case "above":
            return f"> {float(target['published']):g}"
        case "below":
            return f"< {float(target['published']):g}"
        case _:
            return ""
