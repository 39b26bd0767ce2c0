"""``airperf shell``: a shell or command whose only network is an emulated link.

Model: docs/guide/shell.md; Mahimahi's shells. Leaves out what is on the other side: ``airperf host``
around it has a site.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from airperf.cli.options import FilePath, json_flag, seed_option
from airperf.cli.output import number, print_json, say
from airperf.errors import InputError
from airperf.files import pretty_json, write_atomic
from airperf.scenario import Checked, Overrides, layer, parse_overrides
from airperf.testbed import complaints, run_shell


@click.command("shell", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--net",
    "nets",
    multiple=True,
    required=True,
    metavar="LAYER",
    help="A link: a short name (gprs, edge, slow-4g, lte, wifi …), a scenario, or a trace. Repeatable: the "
    "first is the outermost.",
)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the link.")
@seed_option
@click.option("--out", type=FilePath, default=None, help="Write the JSON object to this file.")
@click.option("--quiet", is_flag=True, help="Print no report.")
@json_flag
@click.argument("command", metavar="[-- COMMAND…]", nargs=-1, type=click.UNPROCESSED)
def command(
    nets: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    quiet: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND (default: your shell) where the only network is an emulated link to here.

    What listens here is reached at the address in AIRPERF_OUTSIDE; inside airperf host, the recorded site by
    its names. Nothing is forwarded to the world outside. At the end it says what the link carried, how late,
    and whether that was what the link states. The exit code is the command's.
    """
    if command[:1] == ("--",):
        command = command[1:]
    if not command:
        if not sys.stdin.isatty():
            raise InputError(
                "no COMMAND, and this is no terminal for a shell: airperf shell --net LAYER -- COMMAND"
            )
        command = (os.environ.get("SHELL", "/bin/sh"),)
    layers = check_layers(nets, parse_overrides(settings))
    report = run_shell(layers, seed, command)
    told = {"schema": 1, "command": list(command), **report, "why_invalid": complaints(report)}
    if out is not None:
        write_atomic(out, pretty_json(told))
    if as_json:
        print_json(told)
    elif not quiet:
        for one in report["layers"]:
            for line in described(one):
                say(line)
        for why in report["clocks"]:
            say(f"NOT VALID: {why}")
    return int(report["status"])


def check_layers(nets: Sequence[str], overrides: Overrides) -> list[Checked]:
    """The links of these names; raises ``InputError`` with what is wrong."""
    if overrides and len(nets) != 1:
        raise InputError(
            "--set goes with one --net; for several, airperf shell --net A -- airperf shell --net B --set …"
        )
    return [layer(net, overrides) for net in nets]


def described(one: Mapping[str, Any]) -> list[str]:
    """A layer's report in lines for people."""
    lag = f"{number(one['lag_p50_us'])} µs, 99% within {number(one['lag_p99_us'])} µs"
    allowed = f"most {number(one['lag_max_us'])} µs; {number(one['lag_p99_limit_us'])} µs allowed for 99%"
    lines = [f"{one['name']}: {one['seconds']:.1f} s; late by {lag}, {allowed}"]
    for name in ("down", "up"):
        way = one[name]
        carried = f"{way['delivered_packets']} packets, {way['delivered_bytes'] / 1024:,.1f} KiB delivered"
        lines.append(f"  {name}: {carried} of {way['offered_packets']} offered{_lost(way)}")
        lines += [f"    check: {text}" for text in _checked(way)]
    for other in one["others"]:
        rates = [f"{other[key] * 8 / one['seconds'] / 1e3:,.1f}" for key in ("down_bytes", "up_bytes")]
        carried = f"{rates[0]} kbit/s down and {rates[1]} up, of packets"
        lines.append(f"  beside it {other['station']} ({other['program']}): {carried}")
    return [*lines, *(f"  NOT VALID: {why}" for why in one["why_invalid"])]


def _lost(way: Mapping[str, Any]) -> str:
    parts = [f"{count} dropped ({cause.replace('_', ' ')})" for cause, count in way["dropped"].items()]
    parts += [f"{count} lost ({cause.replace('_', ' ')})" for cause, count in way["lost"].items()]
    parts += [f"{way['dropped_outside']} dropped in front of the link"] if way["dropped_outside"] else []
    return "".join(f"; {part}" for part in parts)


def _checked(way: Mapping[str, Any]) -> list[str]:
    lines = []
    if rate := way["rate"]:
        measured, stated = rate["measured"], rate["stated"]
        unknown = f" ± {rate['uncertain']:.1%}" if rate["uncertain"] >= 0.001 else ""
        lines.append(
            f"rate while busy {number(measured / 1e3, 5)} kbit/s, stated {number(stated / 1e3, 5)} "
            f"({measured / stated - 1:+.2%}{unknown}, {rate['packets']} packets)"
        )
    if way["worst_second"] is not None:
        lines.append(f"worst of {way['busy_seconds']} busy seconds {way['worst_second']:+.3%} off")
    if delay := way["delay"]:
        times = f"{delay['measured']:.3f} ms, stated {delay['stated']:.3f} ms"
        lines.append(f"one-way delay {times} ({delay['packets']} packets that met nobody)")
    if not lines and way["delivered_packets"]:
        least, most = number(way["delay_least_ms"], 4), number(way["delay_most_ms"], 4)
        lines.append(f"one-way delay {least} … {most} ms; nothing that the link states could be judged")
    return lines
