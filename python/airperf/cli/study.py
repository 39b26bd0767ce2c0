"""``airperf study``: a published study, made again and compared with what was published.

Leaves out what the study is, which is data in ``studies/``.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from airperf.analysis.beside import agreements, emulated_against_simulated
from airperf.analysis.scoreboard import scoreboard
from airperf.analysis.view import StudyView
from airperf.cli.campaign import Bars, dry
from airperf.cli.options import FilePath, FolderPath, dry_run_flag, json_flag, seed_option
from airperf.cli.output import print_json, say, show
from airperf.cli.tables import agreement_table, emu_table, score_table
from airperf.experiment import Options, Study, load_study, run_study
from airperf.records import open_campaign
from airperf.report.study import study_report
from airperf.testbed import TESTBEDS, Interrupts

SCHEMA = 1


@click.command("study")
@click.argument("name")
@click.option(
    "--only", multiple=True, metavar="EXPERIMENT", help="Only this experiment, such as E1 (repeatable)."
)
@click.option(
    "--testbed",
    "testbeds",
    type=click.Choice([*TESTBEDS, "all"]),
    multiple=True,
    default=("all",),
    show_default=True,
    help="Repeatable.",
)
@click.option("--quick", is_flag=True, help="Fewer rates, repetitions and seconds: to see that it works.")
@click.option("--repetitions", type=click.IntRange(1, 1000), default=None, help="Instead of the study's own.")
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=2, show_default=True, help="Worker processes for sim."
)
@seed_option
@click.option("--out", type=FolderPath, default=None, help="Results folder (default: results/NAME).")
@click.option(
    "--report", "report_path", type=FilePath, default=None, help="HTML report (default: in the folder)."
)
@json_flag
@dry_run_flag
def command(
    name: str,
    only: tuple[str, ...],
    testbeds: tuple[str, ...],
    quick: bool,
    repetitions: int | None,
    jobs: int,
    seed: int | None,
    out: Path | None,
    report_path: Path | None,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Make study NAME (an installed one, or a folder) and print published | ours | within?

    Results are cached and resumable: the same command goes on where it was interrupted.
    """
    study = load_study(name)
    wanted = TESTBEDS if "all" in testbeds else tuple(t for t in TESTBEDS if t in testbeds)
    folder = out or Path("results") / (study.name + ("-quick" if quick else ""))
    options = Options(
        out=folder,
        testbeds=wanted,
        only=only,
        quick=quick,
        repetitions=repetitions,
        workers=jobs,
        seed=seed,
        command=_command(study, only, quick, repetitions, seed),
    )
    if dry_run:
        return dry(study, options, as_json)
    with Interrupts() as interrupts, Bars() as bars:
        result = run_study(study, options, interrupts, bars)
    view = StudyView(open_campaign(folder))
    rows = scoreboard(view)
    report = study_report(view, rows, report_path)
    emu = emulated_against_simulated(view)
    beside = agreements(view)
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "study": study.name,
                "rows": [row.json() for row in rows],
                "emu": emu.to_dicts(),
                "agreement": beside,
                "partial": result.partial,
                "runs": {"made": result.done, "reused": result.reused},
                "report": str(report),
            }
        )
    else:
        show(score_table(study, rows))
        if emu.height:
            show(emu_table(emu.to_dicts()))
        if beside:
            show(agreement_table(beside))
        judged = [row.within for row in rows if row.within is not None]
        click.echo(f"{sum(judged)} of {len(judged)} published rows within tolerance; report: {report}")
    for line in result.partial:
        say(f"partly usable: {line}")
    return 3 if result.partial else 0


def _command(
    study: Study,
    only: tuple[str, ...],
    quick: bool,
    repetitions: int | None,
    seed: int | None,
) -> str:
    """The command that makes the same results, without what only says on what, where and how fast."""
    words = ["airperf", "study", study.name]
    for experiment in only:
        words += ["--only", experiment]
    if quick:
        words.append("--quick")
    if repetitions is not None:
        words += ["--repetitions", str(repetitions)]
    if seed is not None:
        words += ["--seed", str(seed)]
    return shlex.join(words)
