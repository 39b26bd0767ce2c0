"""Carrying out what was asked: one run, one for each rate of a sweep, or as many as the knee needs.

Leaves out measuring (the engine) and the search's arithmetic (``airperf.analysis.bisection``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from airperf.analysis.bisection import Knee, among, near
from airperf.cli.load.table import (
    counts_table,
    heading,
    knee_line,
    points_table,
    times_table,
    verdict_line,
)
from airperf.cli.output import ERR, OUT, print_json, say, show
from airperf.errors import InputError
from airperf.quantities import SECOND_NS, rate_micro
from airperf.scenario import expand_sweep
from airperf.testbed import Interrupts
from airperf.testbed.load import CARRIED, Plan, Result, run_load

SCHEMA = 1
KNEE_WIDTH = 0.05
"""How wide the interval of a knee may be, relative to its lower end."""
MOST_MICRO = 10**12
WORDS = "airperf.cli.load.text"
"""The module that prints httperf's report, loaded when a run is over."""

Report = Callable[[Plan, Result], str]


@dataclass(frozen=True)
class Wanted:
    """What to do with a plan, and where its result goes."""

    title: str
    out: Path | None = None
    as_json: bool = False
    dry_run: bool = False
    sweep: str | None = None
    until_knee: bool = False
    pause_ns: int = SECOND_NS
    report: Report | None = None
    """Prints another form than the tables."""

    @cached_property
    def rates(self) -> tuple[str, ...]:
        """The rates of the sweep, rising."""
        texts = expand_sweep(self.sweep) if self.sweep else []
        return tuple(sorted(texts, key=rate_micro))


def perform(plan: Plan, wanted: Wanted) -> int:
    """Does it and gives the exit code: 0 good, 3 partly usable, 130 interrupted."""
    for note in plan.notes:
        say(f"note: {note}")
    if wanted.until_knee and plan.rate is None:
        raise InputError("--until-knee needs a rate to begin with: --rate or --sweep")
    if wanted.dry_run:
        print_json({"schema": SCHEMA, "dry_run": True, "plan": plan.json(), "rates": list(wanted.rates)})
        return 0
    if wanted.out is not None and wanted.out.exists() and any(wanted.out.iterdir()):
        raise InputError(f"{wanted.out}: is not empty, and results are never overwritten; give another --out")
    with Interrupts() as interrupts, _Live() as live:
        if wanted.sweep is None and not wanted.until_knee:
            result = run_load(plan, wanted.out, interrupts=interrupts, listener=live.watch(plan))
        else:
            return _Series(plan, wanted, interrupts, live).perform()
    if wanted.as_json:
        print_json(result.json())
    elif wanted.report:
        click.echo(wanted.report(plan, result), nl=False)
    else:
        click.echo(heading(wanted.title, plan))
        show(times_table(result))
        show(counts_table(plan, result))
        OUT.print(verdict_line(result), soft_wrap=True)
    if wanted.as_json or wanted.report or result.good:
        _complain(result)  # else the verdict has said it
    return _code([result])


class _Series:
    """Runs at several rates, each with fresh connections and a pause before it."""

    def __init__(self, plan: Plan, wanted: Wanted, interrupts: Interrupts, live: _Live) -> None:
        self.plan, self.wanted, self.interrupts, self.live = plan, wanted, interrupts, live
        self.points: dict[int, Result] = {}

    def perform(self) -> int:
        wanted = self.wanted
        rates = [rate_micro(text) for text in wanted.rates]
        knee = None
        try:
            if not wanted.until_knee:
                for rate in rates:
                    self.measure(rate)
            elif rates:
                knee = among(rates, self.carries)
            else:
                start = rate_micro(f"{self.plan.rate}")
                knee = near(start, KNEE_WIDTH, self.carries, MOST_MICRO)
        except _Stop:
            pass
        self.live.__exit__(None, None, None)
        points = dict(sorted(self.points.items()))
        if wanted.as_json:
            print_json(
                {
                    "schema": SCHEMA,
                    "points": [{"rate_rps": rate / 1e6, **r.json()} for rate, r in points.items()],
                    "knee": _knee_json(knee) if wanted.until_knee else None,
                }
            )
        elif wanted.report:
            for rate, result in points.items():
                click.echo(wanted.report(self.plan.at_rate(rate), result))
        else:
            click.echo(heading(wanted.title, self.plan, rate=False))
            show(points_table(points))
            if wanted.until_knee:
                click.echo(knee_line(knee, points))
        for rate, result in points.items():
            _complain(result, f"at {rate / 1e6:g}/s: ")
        if not wanted.until_knee:
            return _code(list(points.values()))
        ends = [points[rate] for rate in (knee.low, knee.high) if rate is not None] if knee else []
        return _code(ends) or (0 if len(ends) == 2 else 3)

    def carries(self, rate: int) -> bool:
        """Whether a rate was offered and carried."""
        result = self.measure(rate)
        return result.good and result.carried

    def measure(self, rate: int) -> Result:
        if self.points:
            self.pause()
        plan = self.plan.at_rate(rate)
        out = self.wanted.out and self.wanted.out / f"rate-{rate / 1e6:g}"
        result = run_load(plan, out, interrupts=self.interrupts, listener=self.live.watch(plan))
        self.points[rate] = result
        if result.interrupted:
            raise _Stop
        return result

    def pause(self) -> None:
        until = time.monotonic_ns() + self.wanted.pause_ns
        while (left := until - time.monotonic_ns()) > 0:
            if self.interrupts.count:
                raise _Stop
            time.sleep(min(left / 1e9, 0.1))


class _Stop(Exception):
    """The rest of a series is not made."""


class _Live:
    """One line on a terminal that says how it goes; nothing elsewhere."""

    def __init__(self) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("{task.fields[seen]}"),
            console=ERR,
            disable=not ERR.is_terminal,
            transient=True,
            auto_refresh=False,  # a thread that draws would take time from the one that loads
        )

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def watch(self, plan: Plan) -> Callable[[Mapping[str, Any]], None]:
        """What to tell once a second about a run of this plan."""
        total = None if plan.duration_ns is None else plan.duration_ns / 1e9
        kept = f"{plan.concurrency or len(plan.clients)} {'connections' if plan.concurrency else 'users'}"
        name = f"{plan.rate:g}/s" if plan.rate else kept
        for task in self.bar.task_ids:
            self.bar.remove_task(task)
        task = self.bar.add_task(name, total=total, seen="")

        def told(message: Mapping[str, Any]) -> None:
            parts = [f"sent {message.get('sent', 0)}", f"done {message.get('completed', 0)}"]
            parts.append(f"errors {message.get('errors', 0)}")
            if (p99 := message.get("p99_ms")) is not None:
                parts.append(f"response 99% {float(p99):.3g} ms")
            done = float(message.get("elapsed_s", 0))
            self.bar.update(task, completed=done, seen=" · ".join(parts), refresh=True)

        return told


def _knee_json(knee: Knee | None) -> dict[str, Any] | None:
    if knee is None:
        return None
    low, high = (None if end is None else end / 1e6 for end in (knee.low, knee.high))
    return {"low_rps": low, "high_rps": high, "criterion": f"completed >= {CARRIED:g} offered"}


def _complain(result: Result, place: str = "") -> None:
    if result.interrupted:
        say(f"{place}interrupted: the figures are of what was done until then")
    kind = "generator-limited: " if result.limited else "note: " if result.values["valid"] else "invalid: "
    for reason in result.why:
        say(f"{place}{kind}{reason}")


def _code(results: list[Result]) -> int:
    if any(result.interrupted for result in results):
        return 130
    return 0 if results and all(result.good for result in results) else 3
