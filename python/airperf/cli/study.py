"""``airperf study``: a published study, made again and compared with what was published.

Leaves out what the study is, which is data in ``studies/``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from airperf.analysis.panels import emulated_against_simulated
from airperf.analysis.scoreboard import scoreboard
from airperf.analysis.view import StudyView
from airperf.cli.options import FilePath, FolderPath, dry_run_flag, json_flag, seed_option
from airperf.cli.output import ERR, print_json, say, show
from airperf.cli.tables import emu_table, score_table
from airperf.experiment import Listener, Options, Study, load_study, plan, run_study
from airperf.records import open_campaign
from airperf.report.study import study_report
from airperf.testbed import TESTBEDS, Failed, Interrupts, Job, Outcome

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
        return _dry_run(study, options, as_json)
    with Interrupts() as interrupts, _Bars() as bars:
        result = run_study(study, options, interrupts, bars)
    view = StudyView(open_campaign(folder))
    rows = scoreboard(view)
    report = study_report(view, rows, report_path)
    emu = emulated_against_simulated(view)
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "study": study.name,
                "rows": [row.json() for row in rows],
                "emu": emu.to_dicts(),
                "partial": result.partial,
                "runs": {"made": result.done, "reused": result.reused},
                "report": str(report),
            }
        )
    else:
        show(score_table(study, rows))
        if emu.height:
            show(emu_table(emu.to_dicts()))
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


def _dry_run(study: Study, options: Options, as_json: bool) -> int:
    todo = plan(study, options)
    counts = {testbed: len(todo.unique(testbed)) for testbed in options.testbeds}
    seconds = sum(point.duration_s for point in todo.unique("emu")) if "emu" in options.testbeds else 0.0
    size = sum(point.disk_bytes for testbed in options.testbeds for point in todo.unique(testbed))
    if as_json:
        points = [{"id": p.id, "overrides": [list(pair) for pair in p.overrides]} for p in todo.points]
        print_json(
            {
                "schema": SCHEMA,
                "dry_run": True,
                "points": points,
                "runs": counts,
                "estimate": {"emu_s": seconds, "disk_bytes": size},
            }
        )
    else:
        for point in todo.points:
            click.echo(f"{point.id}  {' '.join(f'{key}={value}' for key, value in point.overrides)}")
        runs = ", ".join(f"{count} on {testbed}" for testbed, count in counts.items())
        click.echo(
            f"would make {runs} in {options.out}; emulation takes {seconds:g} s; disk {size >> 20} MiB"
        )
    return 0


class _Bars(Listener):
    """Progress on a terminal; a line per testbed elsewhere."""

    def __init__(self) -> None:
        self.live = ERR.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=ERR,
            disable=not self.live,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def started(self, testbed: str, total: int, reused: int) -> None:
        if self.live:
            self.task = self.bar.add_task(testbed, total=total, completed=reused)
        else:
            say(f"{testbed}: {total} runs, {reused} of them there already")

    def advanced(self, outcome: Outcome) -> None:
        if self.task is not None:
            self.bar.advance(self.task)
        if isinstance(outcome, Failed) and outcome.kind not in {"interrupted", "not_started"}:
            self.notice(f"failed: {outcome.job.folder.name}: {outcome.why}")

    def progress(self, _: Job, message: Mapping[str, Any]) -> None:
        if self.task is not None and "elapsed_s" in message:
            self.bar.update(self.task, description=f"emu {float(message['elapsed_s']):.0f} s")

    def notice(self, text: str) -> None:
        say(text)
