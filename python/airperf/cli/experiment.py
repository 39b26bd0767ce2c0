"""``airperf experiment``: a design in one TOML file, run, tabled and reported.

Reference: docs/reference/experiment.md. Leaves out studies, which compare with published numbers (``airperf
study``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from airperf.analysis.results import Result, results, table
from airperf.analysis.view import StudyView
from airperf.cli.campaign import Bars, dry
from airperf.cli.options import FolderPath, dry_run_flag, json_flag, seed_option
from airperf.cli.output import add_row, number, print_json, say, show
from airperf.experiment import Options, Shard, Study, load_experiment, merge_shards, run_study
from airperf.experiment.campaign import Result as Ran
from airperf.files import printable
from airperf.records import open_campaign
from airperf.report.experiment import experiment_report, write_tables
from airperf.testbed import Interrupts

SCHEMA = 1


class _WithDefault(click.Group):
    """``experiment FILE`` is ``experiment run FILE``; only ``merge`` is a word of its own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that ``args`` mean."""
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


@click.group("experiment", cls=_WithDefault, context_settings={"ignore_unknown_options": True})
def command() -> None:
    """Run an experiment: FILE.toml names a scenario, factors and a design.

    Results are cached and resumable: the same command goes on where it was interrupted. ``airperf experiment
    merge DIR...`` joins the folders of shards.
    """


@command.command("run", hidden=True)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--repetitions", type=click.IntRange(1, 1000), default=None, help="Instead of the file's own.")
@click.option(
    "--workers", type=click.IntRange(1, 256), default=2, show_default=True, help="Worker processes for sim."
)
@click.option("--shard", metavar="I/N", default=None, help="Only the I-th of N parts; join them with merge.")
@click.option(
    "--cluster",
    metavar="local|ADDRESS|slurm",
    default="",
    help="Run simulated points through Dask: processes here, a scheduler at tcp://…, or Slurm jobs.",
)
@seed_option
@click.option("--out", type=FolderPath, default=None, help="Results folder (default: results/NAME).")
@json_flag
@dry_run_flag
def run(
    file: Path,
    repetitions: int | None,
    workers: int,
    shard: str | None,
    cluster: str,
    seed: int | None,
    out: Path | None,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Run the experiment of FILE and print its results with their intervals."""
    experiment = load_experiment(file)
    folder = out or Path("results") / experiment.name
    options = Options(
        out=folder,
        testbeds=experiment.variants[0].testbeds,
        repetitions=repetitions,
        workers=workers,
        seed=seed,
        command=_command(file, repetitions, seed),
        shard=Shard.parse(shard) if shard else None,
        cluster=cluster,
    )
    if dry_run:
        return dry(experiment, options, as_json)
    with Interrupts() as interrupts, Bars() as bars:
        ran = run_study(experiment, options, interrupts, bars)
    return _show(experiment, folder, ran, as_json)


@command.command("merge")
@click.argument("folders", nargs=-1, required=True, type=FolderPath)
@click.option("--out", type=FolderPath, required=True, help="Results folder to make.")
@json_flag
def merge(folders: tuple[Path, ...], out: Path, as_json: bool) -> int:
    """Join the FOLDERS that shards of one experiment made into one, as if one command had made it."""
    with Interrupts() as interrupts, Bars() as bars:
        experiment, ran = merge_shards(folders, out, interrupts, bars)
    return _show(experiment, out, ran, as_json)


def _show(experiment: Study, folder: Path, ran: Ran, as_json: bool) -> int:
    view = StudyView(open_campaign(folder))
    found = results(view)
    write_tables(folder, found)
    report = experiment_report(view, found)
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "experiment": experiment.name,
                "results": table(found).to_dicts(),
                "partial": ran.partial,
                "runs": {"made": ran.done, "reused": ran.reused},
                "report": str(report),
            }
        )
    else:
        show(_table(experiment, found))
        click.echo(f"results: {folder / 'results.csv'}    report: {report}")
    for line in ran.partial:
        say(f"partly usable: {line}")
    return 3 if ran.partial else 0


def _command(file: Path, repetitions: int | None, seed: int | None) -> str:
    """The command that makes the same results, without what only says where and how fast."""
    words: list[Any] = ["airperf", "experiment", file.name]
    if repetitions is not None:
        words += ["--repetitions", repetitions]
    if seed is not None:
        words += ["--seed", seed]
    return " ".join(map(str, words))


def _table(experiment: Study, found: list[Result]) -> Table:
    """The results for people."""
    shown = Table(title=printable(f"{experiment.name}: {experiment.title}"))
    factors = list(dict.fromkeys(name for result in found for name, _, _ in result.levels))
    for factor in factors:
        shown.add_column(printable(factor))
    shown.add_column("measure", no_wrap=True)
    for title in ("value", "95% interval", "n"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("unit")
    for result in found:
        levels = {name: text for name, _, text in result.levels}
        value = result.value
        between = "—" if value.low is None else f"{number(value.low)} … {number(value.high)}"
        what = f"knee in {result.measure}" if result.kind == "knee" else result.measure
        unit = f"{result.unit} {f'({result.note})' if result.note else ''}".strip()
        cells = [levels.get(factor, "") for factor in factors]
        add_row(shown, *cells, what, number(value.mean), between, str(value.n), unit)
    return shown
