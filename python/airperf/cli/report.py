"""``airperf report``: the HTML report of a folder of a study or experiment, or of a run directory.

Leaves out running anything.
"""

from __future__ import annotations

from pathlib import Path

import click

from airperf.analysis.results import results
from airperf.analysis.scoreboard import scoreboard
from airperf.analysis.view import StudyView
from airperf.cli.options import FilePath, FolderPath
from airperf.cli.output import say
from airperf.errors import InputError
from airperf.records import open_campaign, open_run
from airperf.records.campaign import INDEX
from airperf.report.experiment import experiment_report
from airperf.report.run import run_report
from airperf.report.study import study_report


@click.command("report")
@click.argument("folder", metavar="DIR", type=FolderPath)
@click.option(
    "--out", type=FilePath, default=None, help="HTML file to write (default: report.html in or beside DIR)."
)
def command(folder: Path, out: Path | None) -> int:
    """Write the report of DIR (of a study, an experiment or a run) as one offline HTML file."""
    if (folder / INDEX).is_file():
        view = StudyView(open_campaign(folder))
        if view.campaign.raw["kind"] == "experiment":
            path = experiment_report(view, results(view), out)
        else:
            path = study_report(view, scoreboard(view), out)
        for point, why in view.unusable.items():
            say(f"left out: {point}: {why}")
        click.echo(path)
        return 3 if view.unusable else 0
    if (folder / "manifest.json").is_file():
        run = open_run(folder)
        click.echo(run_report(run, out or folder.with_name(f"{folder.name}.report.html")))
        return 0 if run.manifest.valid else 3
    raise InputError(f"{folder}: neither the folder of a study ({INDEX}) nor a run directory (manifest.json)")
