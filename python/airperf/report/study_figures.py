"""The figures and tables of a study, each as its experiment asks for it.

Model: an item has ``name``, ``kind``, ``title``, ``caption`` and what its kind needs
(docs/reference/study.md). An item without runs is left out. Leaves out numbers of its own: ``analysis`` has
them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airperf.analysis import beside, best, gains, panels, retransmissions, sharing, visits
from airperf.analysis.tables import Tables
from airperf.analysis.view import StudyView
from airperf.plots import airtime, connections, looks, queues
from airperf.plots import beside as beside_plots
from airperf.plots import gains as gain_plots
from airperf.plots import pages as page_plots
from airperf.plots import panels as panel_plots
from airperf.plots import sharing as sharing_plots
from airperf.report.page import Figure

Item = Mapping[str, Any]

SHOWN = 2
"""Repetitions in a figure of queues: more hide each other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One figure or table of an experiment's section."""

    kind: str
    title: str
    caption: str
    figure: Figure | None = None
    rows: Sequence[Mapping[str, Any]] = ()
    columns: Sequence[str] = ()


def shown(view: StudyView, experiment: str) -> list[Shown]:
    """Every figure and table of an experiment for which there are runs, in the study's order."""
    found = []
    for item in view.figures:
        if item["experiment"] == experiment:
            made = KINDS[str(item["kind"])](view, item)
            if made is not None:
                found.append(made)
    return found


def _figure(view: StudyView, item: Item, svg: str | None) -> Shown | None:
    if svg is None:
        return None
    caption = str(item.get("caption", "")).strip()
    figure = Figure(str(item["name"]), svg, caption, str(view.campaign.raw["command"]))
    return Shown(str(item["kind"]), str(item.get("title", "")), caption, figure)


def _runs(view: StudyView, item: Item) -> dict[float, list[Tables]]:
    """The simulated runs of the item's variant by those levels that it wants and that are there."""
    variant = str(item["variant"])
    factor = view.factor(variant)
    there = view.levels(variant, "sim", factor)
    wanted = [float(level) for level in item.get("levels", there)]
    runs = {level: view.runs(variant, "sim", **{factor: level}) for level in wanted if level in there}
    return {level: some for level, some in runs.items() if some}


def _panels(view: StudyView, item: Item) -> Shown | None:
    names = [str(name) for name in item["panels"]]
    wanted = looks.quantities(names)
    series = []
    for one in item["series"]:
        testbed = str(one.get("testbed", "sim"))
        table = panels.by_level(view, str(one["variant"]), testbed, wanted)
        if not table.is_empty():
            series.append(panel_plots.Series(str(one["label"]), table, testbed == "emu"))
    if not series:
        return None
    published = [p for p in view.campaign.raw["published"] if p["figure"] == item["name"]]
    log_x = bool(item.get("log_x", False))
    return _figure(
        view, item, panel_plots.sweep(str(item["name"]), names, series, str(item["x"]), published, log_x)
    )


def _durations(view: StudyView, item: Item) -> Shown | None:
    runs = {level: panels.durations(some[0]) for level, some in _runs(view, item).items()}
    unit, name = str(item.get("unit", "/s")), str(item["name"])
    return _figure(view, item, connections.durations_over_time(runs, unit, name) if runs else None)


def _distributions(view: StudyView, item: Item) -> Shown | None:
    runs = {level: panels.distribution(some[0]) for level, some in _runs(view, item).items()}
    unit, name = str(item.get("unit", "/s")), str(item["name"])
    return _figure(view, item, connections.distributions(runs, unit, name) if runs else None)


def _queues(view: StudyView, item: Item) -> Shown | None:
    runs = _runs(view, item)
    if not runs:
        return None
    unit = str(item.get("unit", "/s"))
    depths = {
        f"{level:g}{unit}": [panels.queue_depths(run) for run in some[:SHOWN]] for level, some in runs.items()
    }
    first = next(iter(runs.values()))[0]
    limit = float(first.manifest.scenario["link"]["queue"])
    return _figure(view, item, queues.depths_over_time(depths, limit, first.duration_s, str(item["name"])))


def _airtime(view: StudyView, item: Item) -> Shown | None:
    shares = panels.airtime_shares(view, str(item["variant"]), "sim")
    return _figure(
        view, item, None if shares.is_empty() else airtime.budget(shares, str(item["x"]), str(item["name"]))
    )


def _sharing(view: StudyView, item: Item) -> Shown | None:
    """Completions of each client over time: repetition 0 at one level of each variant."""
    found = {}
    for one in item["series"]:
        variant = str(one["variant"])
        runs = view.runs(variant, "sim", **{view.factor(variant): float(one["level"])})
        if runs:
            found[str(one["label"])] = sharing.shares_over_time(runs[0])
    return _figure(view, item, sharing_plots.shares_over_time(found, str(item["name"])) if found else None)


def _phases(view: StudyView, item: Item) -> Shown | None:
    """Table: fairness by phase offset, one group of columns for each variant."""
    variants = [str(one["variant"]) for one in item["series"]]
    rows = sharing.over_phases(view, variants)
    labels = [str(one["label"]) for one in item["series"]]
    return _table(item, rows, labels)


def _retransmissions(view: StudyView, item: Item) -> Shown | None:
    """Table: types of packets down, clients × levels across."""
    wanted = {
        level: some[0] for level, some in _runs(view, item).items() if retransmissions.has_capture(some[0])
    }
    if not wanted:
        return None
    columns, rows = retransmissions.table({f"{level:g}/s": run for level, run in wanted.items()})
    return _table(item, rows, columns)


def _gains(view: StudyView, item: Item) -> Shown | None:
    """Bars: a measure with each remedy beside that without, over common streams."""
    rows = gains.gains(view, item)
    return _figure(view, item, gain_plots.bars(rows, str(item["x"]), str(item["name"])) if rows else None)


def _best(view: StudyView, item: Item) -> Shown | None:
    """Table: the best level of one factor at each level of another."""
    return _table(item, best.best(view, item), [str(item["x"]), str(item["over"])])


def _timeline(view: StudyView, item: Item) -> Shown | None:
    """Connections over time: the first load of repetition 0 at one level of a variant."""
    at = {str(key): float(value) for key, value in item["at"].items()}
    runs = view.runs(str(item["variant"]), "sim", **at)
    spans = visits.timeline(runs[0]) if runs else None
    svg = None if spans is None or spans.is_empty() else page_plots.timeline(spans, str(item["name"]))
    return _figure(view, item, svg)


def _layers(view: StudyView, item: Item) -> Shown | None:
    """Bars: load time of each page, by what each layer saves."""
    pages = visits.layers(view, item)
    labels = [str(one["label"]) for one in item["series"]]
    return _figure(
        view, item, page_plots.layers(pages, labels, str(item["x"]), str(item["name"])) if pages else None
    )


def _agreement(view: StudyView, item: Item) -> Shown | None:
    """Table: a measure emulated beside simulated."""
    columns, rows = beside.agreement(view, item)
    return _table(item, rows, columns)


def _agreement_bars(view: StudyView, item: Item) -> Shown | None:
    """The same as bars."""
    columns, rows = beside.agreement(view, item)
    svg = beside_plots.bars(columns, rows, str(item["x"]), str(item["name"])) if rows else None
    return _figure(view, item, svg)


def _savings(view: StudyView, item: Item) -> Shown | None:
    """Table: seconds and octets of each page with each remedy."""
    columns, rows = visits.savings(view, item)
    return _table(item, rows, columns)


def _table(item: Item, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Shown | None:
    if not rows:
        return None
    caption = str(item.get("caption", "")).strip()
    return Shown(str(item["kind"]), str(item.get("title", "")), caption, None, rows, columns)


KINDS: dict[str, Callable[[StudyView, Item], Shown | None]] = {
    "panels": _panels,
    "durations": _durations,
    "distributions": _distributions,
    "queues": _queues,
    "airtime": _airtime,
    "sharing": _sharing,
    "phases": _phases,
    "retransmissions": _retransmissions,
    "gains": _gains,
    "timeline": _timeline,
    "layers": _layers,
    "savings": _savings,
    "agreement": _agreement,
    "agreement-bars": _agreement_bars,
    "best": _best,
}
"""Kinds of figures and tables that a study may ask for."""
