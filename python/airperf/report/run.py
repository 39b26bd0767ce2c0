"""The report of a single run: summary, durations, queues, airtime and errors.

Leaves out intervals, which need repetitions: n = 1 is said on the page.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl

from airperf.analysis import panels as tables
from airperf.analysis.summary import summary
from airperf.analysis.tables import load
from airperf.plots import airtime, connections, queues
from airperf.records import Run
from airperf.report.page import Figure, render


def run_report(run: Run, path: Path) -> Path:
    """Writes the report of a run directory and gives its path."""
    data, manifest = load(run), run.manifest
    values = summary(data)
    command = shlex.join(["airperf", "report", str(run.folder)])
    rate = values["offered_rps"]
    found = [
        Figure(
            "durations",
            connections.durations_over_time({rate: tables.durations(data)}),
            "Duration of every connection on the air, by when it began.",
            command,
        ),
        Figure(
            "distributions",
            connections.distributions({rate: tables.distribution(data)}),
            "The same durations as a distribution and its tail.",
            command,
        ),
        Figure(
            "queues",
            queues.depths_over_time(
                {"transmit queues": [tables.queue_depths(data)]},
                float(manifest.scenario["link"]["queue"]),
                manifest.duration_s,
            ),
            "Transmit queues over time; load ends at the vertical line.",
            command,
        ),
    ]
    budget = values["airtime"]
    if whole := sum(budget.values()):
        shares = pl.DataFrame(
            {
                "category": list(budget),
                "share": [seconds / whole for seconds in budget.values()],
            }
        )
        found.append(Figure("airtime", airtime.bar(shares), "What the link's time was used for.", command))
    content = {
        "manifest": manifest,
        "summary": values,
        "whole_s": whole,
        "folder": str(run.folder),
        "command": command,
    }
    return render("run.html.j2", path, content, found)
