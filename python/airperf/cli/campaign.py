"""What verbs that run campaigns share: the list of points beforehand, and the progress.

Leaves out results, which each verb prints in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from airperf.cli.output import ERR, print_json, say
from airperf.experiment import Listener, Options, Study, plan
from airperf.testbed import Failed, Job, Outcome

SCHEMA = 1


def dry(study: Study, options: Options, as_json: bool) -> int:
    """Prints the points that would be made, with time and disk; starts nothing."""
    todo = plan(study, options)
    first = [point for testbed in options.testbeds for point in todo.first(testbed)]
    counts = {testbed: len(todo.unique(testbed)) for testbed in options.testbeds}
    seconds = sum(point.duration_s for point in todo.unique("emu")) if "emu" in options.testbeds else 0.0
    size = sum(point.disk_bytes for testbed in options.testbeds for point in todo.unique(testbed))
    if as_json:
        points = [{"id": p.id, "overrides": [list(pair) for pair in p.overrides]} for p in first]
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
        for point in first:
            click.echo(f"{point.id}  {' '.join(f'{key}={value}' for key, value in point.overrides)}")
        runs = ", ".join(f"{count} on {testbed}" for testbed, count in counts.items())
        click.echo(
            f"would make {runs} in {options.out}; emulation takes {seconds:g} s; disk {size >> 20} MiB"
        )
        if any(v.knee is not None or v.repetitions.share is not None for v in study.variants):
            click.echo("these are the first points; their values decide whether there are more")
    return 0


class Bars(Listener):
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
        self.testbed, self.total = "", 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def started(self, testbed: str, total: int, reused: int) -> None:
        """A testbed's points, or more of them."""
        if self.live:
            if self.task is None or self.testbed != testbed:
                self.testbed, self.total = testbed, 0
                self.task = self.bar.add_task(testbed, total=0)
            self.total += total
            self.bar.update(self.task, total=self.total)
            self.bar.advance(self.task, reused)
        else:
            say(f"{testbed}: {total} runs, {reused} of them there already")

    def advanced(self, outcome: Outcome) -> None:
        """One point more on the bar; a failure is said at once."""
        if self.task is not None:
            self.bar.advance(self.task)
        if isinstance(outcome, Failed) and outcome.kind not in {"interrupted", "not_started"}:
            self.notice(f"failed: {outcome.job.folder.name}: {outcome.why}")

    def progress(self, _: Job, message: Mapping[str, Any]) -> None:
        """How far the emulated run is."""
        if self.task is not None and "elapsed_s" in message:
            self.bar.update(self.task, description=f"emu {float(message['elapsed_s']):.0f} s")

    def notice(self, text: str) -> None:
        """A remark, on stderr."""
        say(text)
