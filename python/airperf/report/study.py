"""The report of a study: scoreboard, misses with reasons, figures, emulation against simulation, provenance.

Leaves out numbers of its own: every value comes from ``analysis``, every text about the study from its files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from airperf.analysis import panels as tables
from airperf.analysis.scoreboard import Row
from airperf.analysis.view import StudyView
from airperf.plots import airtime, connections, panels, queues
from airperf.report.page import Figure, render

HEADLINES = ("knee", "peak_throughput", "duration_10", "response_overload")
"""Rows whose values stand at the top of the page."""

CAPTIONS = {
    "panels": "The study's four panels against the offered rate. Lines: simulation, mean over repetitions "
    "with its 95% interval. Squares: real programs over the emulated medium. Grey: what the paper's text "
    "states.",
    "durations": "Duration of every connection on the air, by when it began (simulation, repetition 0).",
    "distributions": "The same durations as distributions; the tail shows retransmission timers as steps.",
    "queues": "Both transmit queues over time (simulation; faint lines are further repetitions; load ends at "
    "the vertical line).",
    "airtime": "What the medium's time was used for (simulation, mean over repetitions). Each bar is the "
    "whole time of load, without draining.",
}


def study_report(view: StudyView, rows: Sequence[Row], path: Path | None = None) -> Path:
    """Writes the report of an opened study and gives its path."""
    raw = view.campaign.raw
    judged = [row for row in rows if row.within is not None]
    pictures = figures(view)
    content = {
        "study": raw,
        "rows": [row.json() | {"tolerance_text": tolerance_text(row)} for row in rows],
        "misses": [row.json() for row in rows if row.within is False],
        "unanswered": [row.json() for row in rows if row.ours.mean is None and row.target.get("compare")],
        "hits": sum(1 for row in judged if row.within),
        "judged": len(judged),
        "headline": [row.json() for row in rows if str(row.target["id"]).partition(".")[2] in HEADLINES],
        "emu": tables.emulated_against_simulated(view).to_dicts(),
        "unusable": view.unusable,
        "missing": [point for point in view.campaign.points if point.state != "done"],
        "points": raw["points"],
        "seeds": sorted({int(point["seed"]) for point in raw["points"]}),
        "repetitions": 1 + max((point.repetition for point in view.campaign.points), default=0),
    }
    return render("study.html.j2", path or view.campaign.folder / "report.html", content, pictures)


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


def figures(view: StudyView) -> list[Figure]:
    """Every figure for which there are runs."""
    command = str(view.campaign.raw["command"])
    drawn = {
        "panels": _panels(view),
        "durations": _durations(view),
        "distributions": _distributions(view),
        "queues": _queues(view),
        "airtime": _airtime(view),
    }
    return [Figure(name, svg, CAPTIONS[name], command) for name, svg in drawn.items() if svg is not None]


def _rates(view: StudyView, figure: str) -> list[float]:
    """The rates that the study wants in a figure and has runs for."""
    wanted = view.campaign.raw["figures"].get(figure, ())
    return [float(rate) for rate in wanted if view.runs("sweep", "sim", rate=float(rate))]


def _panels(view: StudyView) -> str | None:
    sim = tables.by_rate(view, "sweep", "sim")
    kernel = tables.by_rate(view, "kernel-tcp", "sim")
    emu = tables.by_rate(view, "emu", "emu")
    if sim.is_empty() and kernel.is_empty() and emu.is_empty():
        return None
    return panels.four_panels(sim, kernel, emu, view.campaign.raw["published"])


def _durations(view: StudyView) -> str | None:
    rates = _rates(view, "durations")
    shown = {rate: tables.durations(view.runs("sweep", "sim", rate=rate)[0]) for rate in rates}
    return connections.durations_over_time(shown) if shown else None


def _distributions(view: StudyView) -> str | None:
    rates = _rates(view, "durations")
    shown = {rate: tables.distribution(view.runs("sweep", "sim", rate=rate)[0]) for rate in rates}
    return connections.distributions(shown) if shown else None


def _queues(view: StudyView) -> str | None:
    runs = {rate: view.runs("sweep", "sim", rate=rate) for rate in _rates(view, "queues")}
    if not runs:
        return None
    depths = {f"{rate:g}/s": [tables.queue_depths(run) for run in some] for rate, some in runs.items()}
    first = next(iter(runs.values()))[0]
    return queues.depths_over_time(depths, float(first.manifest.scenario["link"]["queue"]), first.duration_s)


def _airtime(view: StudyView) -> str | None:
    shares = tables.airtime_shares(view, "airtime", "sim")
    return None if shares.is_empty() else airtime.budget(shares)
