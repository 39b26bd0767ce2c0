"""``airperf run``: one scenario on one testbed into one run directory.

Leaves out repetitions and sweeps, which are studies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from airperf.analysis.summary import generator_limited, summary
from airperf.analysis.tables import load
from airperf.cli.options import FolderPath, dry_run_flag, json_flag, seed_option
from airperf.cli.output import ERR, print_json, say, show
from airperf.cli.tables import summary_table
from airperf.errors import (
    AirperfError,
    EnvironmentLacks,
    InputError,
    Interrupted,
    NoSpace,
    RunFailed,
    ScenarioProblems,
)
from airperf.experiment import lacking_text
from airperf.records import open_run
from airperf.scenario import Checked, check, find_scenario, parse_overrides
from airperf.scenario.check import problems_from_json
from airperf.testbed import TESTBEDS, Failed, Interrupts, Job, Pool, lacking

SCHEMA = 1


@click.command("run")
@click.argument("scenario")
@click.option(
    "--testbed", type=click.Choice(TESTBEDS), default="sim", show_default=True, help="How to make it happen."
)
@seed_option
@click.option(
    "--set", "settings", metavar="KEY=VALUE", multiple=True, help='Change a key, such as client.rate="40/s".'
)
@click.option(
    "--out", type=FolderPath, default=None, help="Run directory to make (default: a new one in results/)."
)
@click.option(
    "--level",
    type=click.Choice(["full", "analysis", "summary"]),
    default="full",
    show_default=True,
    help="What to record: analysis leaves out frames, packets and the capture; summary keeps sums only.",
)
@json_flag
@dry_run_flag
def command(
    scenario: str,
    testbed: str,
    seed: int | None,
    settings: tuple[str, ...],
    out: Path | None,
    level: str,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Run SCENARIO (a file, or the name of an installed one) once."""
    text, name = find_scenario(scenario)
    overrides = parse_overrides(settings)
    if seed is not None:
        overrides = (*overrides, ("seed", str(seed)))
    checked = check(text, name, overrides)
    for warning in checked.warnings:
        say(f"{name}: warning: {warning}")
    chosen = int(checked.resolved["seed"])
    folder = out or _new_folder(str(checked.resolved["name"]), testbed, chosen)
    if (folder / "manifest.json").exists():
        raise InputError(
            f"{folder}: holds a run already, which is never overwritten; give another folder with --out"
        )
    unable = {testbed: needs} if (needs := lacking(testbed)) else {}
    if dry_run:
        return _dry_run(checked, testbed, folder, as_json)
    if unable:
        raise EnvironmentLacks(lacking_text(unable))
    folder.parent.mkdir(parents=True, exist_ok=True)
    _perform(
        Job(
            testbed=testbed,
            text=text,
            name=name,
            overrides=overrides,
            seed=chosen,
            point=0,
            repetition=0,
            out_dir=str(folder),
            level=level,
            budget_s=max(600.0, 10 * float(checked.estimate["run_seconds"])),
        ),
        float(checked.estimate["run_seconds"]),
    )
    run = open_run(folder)
    answer: dict[str, Any] = {
        "schema": SCHEMA,
        "run": str(folder),
        "valid": run.manifest.valid,
        "why_invalid": list(run.manifest.why_invalid),
        "summary": summary(load(run)),
    }
    if as_json:
        print_json(answer)
    else:
        show(summary_table(run, answer["summary"]))
        click.echo(f"records: {folder}    report: airperf report {folder}")
    if generator_limited(run.manifest):
        say("generator-limited: the client could not offer the rate it was asked for")
    for reason in run.manifest.why_invalid:
        say(f"invalid: {reason}")
    return 0 if run.manifest.valid else 3


def _perform(job: Job, seconds: float) -> None:
    with (
        Interrupts() as interrupts,
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            console=ERR,
            disable=not ERR.is_terminal,
            transient=True,
        ) as bar,
    ):
        task = bar.add_task(job.testbed, total=seconds if job.testbed == "emu" else None)

        def progress(_: Job, message: Mapping[str, Any]) -> None:
            bar.update(task, completed=float(message.get("elapsed_s", 0)))

        (outcome,) = Pool(1).run([job], interrupts, progress=progress)
    if isinstance(outcome, Failed):
        raise as_error(outcome)


def as_error(failed: Failed) -> AirperfError:
    """The error that a failed run is to its user."""
    match failed.kind:
        case "input":
            try:
                return ScenarioProblems(failed.job.name, problems_from_json(failed.why))
            except (ValueError, KeyError, TypeError):
                return InputError(failed.why)
        case "environment":
            return EnvironmentLacks(failed.why)
        case "no_space":
            return NoSpace(failed.why)
        case "interrupted":
            return Interrupted("interrupted; nothing is left of this run")
        case "internal":
            return AirperfError(
                f"internal error in the engine: {failed.why}. This is a bug: please report it."
            )
        case _:
            return RunFailed(f"testbed {failed.job.testbed}: {failed.why}")


def _new_folder(name: str, testbed: str, seed: int) -> Path:
    safe = (
        "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "-" for c in name).strip(".") or "run"
    )
    base = Path("results") / f"{safe[:80]}-{testbed}-seed{seed}"
    folder, number_ = base, 1
    while folder.exists():
        number_ += 1
        folder = base.with_name(f"{base.name}-{number_}")
    return folder


def _dry_run(checked: Checked, testbed: str, folder: Path, as_json: bool) -> int:
    estimate = dict(checked.estimate)
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "dry_run": True,
                "run": str(folder),
                "testbed": testbed,
                "scenario": checked.resolved,
                "sha256": checked.sha256,
                "warnings": list(checked.warnings),
                "estimate": estimate,
            }
        )
    else:
        click.echo(json.dumps(checked.resolved, indent=1, ensure_ascii=False))
        click.echo(f"would run 1 point on {testbed} into {folder}; estimate: {json.dumps(estimate)}")
    return 0
