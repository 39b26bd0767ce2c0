"""``airperf host``: a recorded site, served again over all its names, for a browser or any other program.

Model: docs/guide/host-a-site.md. Leaves out the network between them: ``airperf shell`` inside has one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from airperf.cli.options import json_flag
from airperf.cli.output import ERR, add_row, print_json, say, show
from airperf.errors import InputError
from airperf.quantities import SECOND_NS, duration_ns
from airperf.sites import Kept, Site, is_site, site_of
from airperf.testbed import Hosting, host_for, host_on_loopback

SHOWN_MISSES = 20


@click.command("host", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Keep what SOURCE was read into in this folder."
)
@click.option(
    "--keep-cookies", is_flag=True, help="Keep fields with cookies and passwords, left out by default."
)
@click.option(
    "--rewrite", is_flag=True, help="No namespace: plain HTTP on ports of 127.0.0.1, with texts rewritten."
)
@click.option(
    "--strict", is_flag=True, help="Answer recorded URLs alone (default: another query of the path will do)."
)
@click.option("--no-think", is_flag=True, help="Answer at once, not after the recorded server's think time.")
@click.option("--http1", is_flag=True, help="Do not offer HTTP/2.")
@click.option("--duration", default=None, help="With --rewrite: stop after this long (default: at Ctrl-C).")
@json_flag
@click.argument("source", metavar="SOURCE", type=click.Path(exists=True, path_type=Path))
@click.argument("command", metavar="[-- COMMAND…]", nargs=-1, type=click.UNPROCESSED)
def command(
    source: Path,
    command: tuple[str, ...],
    keep: Path | None,
    keep_cookies: bool,
    rewrite: bool,
    strict: bool,
    no_think: bool,
    http1: bool,
    duration: str | None,
    as_json: bool,
) -> int:
    """Host SOURCE (a HAR or WARC file, a folder, a page file, or a site kept before), run COMMAND beside it.

    COMMAND (default: your shell) runs in a network namespace whose only hosts are the recorded ones, each at
    an address of its own, with their names, certificates, and HTTP/1.1 and HTTP/2. Whoever was recorded is
    never contacted. What was asked for and not recorded is listed at the end. The exit code is the command's.
    """
    if command[:1] == ("--",):
        command = command[1:]
    seconds = None if duration is None else duration_ns(duration) / SECOND_NS
    if duration is not None and not rewrite:
        raise InputError("--duration goes with --rewrite; COMMAND ends the hosting otherwise")
    if rewrite and command:
        raise InputError("--rewrite serves until it is stopped and runs no COMMAND")
    if not rewrite and not command:
        if not sys.stdin.isatty():
            raise InputError(
                "no COMMAND, and this is no terminal for a shell: airperf host SOURCE -- COMMAND"
            )
        command = (os.environ.get("SHELL", "/bin/sh"),)
    hosting = Hosting(strict, not no_think, not http1, "127.0.0.1" if rewrite else None)
    with tempfile.TemporaryDirectory(prefix="airperf-site-") as name:
        site = _site(source, keep or Path(name) / "site", Kept(cookies=keep_cookies), kept=keep is not None)
        if rewrite:
            code, told = 0, _on_loopback(site, hosting, seconds)
        else:
            code, told = host_for(site.folder, hosting, command)
    _report(site, told)
    if as_json:
        shown = {key: told[key] for key in ("origins", "counts", "misses")}
        print_json({"schema": 1, "site": site.title, "notes": site.notes, "status": code, **shown})
    return code


def _site(source: Path, folder: Path, keep: Kept, *, kept: bool) -> Site:
    if is_site(source) and kept:
        raise InputError(f"{source} is a site already; --keep is for recordings")
    with ERR.status(f"reading {source}"):
        site = site_of(source, folder, keep)
    if is_site(source):
        return site
    say(
        f"{site.title}: {site.exchanges} exchanges, {len(site.origins)} origins, "
        f"{site.body_bytes / 1024:,.0f} KiB"
    )
    for what, count in site.notes.items():
        say(f"  note: {count} {what}")
    return site


def _on_loopback(site: Site, hosting: Hosting, seconds: float | None) -> dict[str, Any]:
    told = False
    with ERR.status("starting") as status:

        def tell(now: Mapping[str, Any]) -> None:
            nonlocal told
            if not told:
                told = True
                table = Table("origin", "is at", box=None)
                for origin, place in now["origins"].items():
                    add_row(table, origin, place)
                show(table)
            status.update(_line(now))

        return host_on_loopback(site.folder, hosting, seconds, tell)


def _line(told: Mapping[str, Any]) -> str:
    counts = told["counts"]
    return (
        f"{counts['exact']} requests answered, {counts['similar']} by another query, "
        f"{counts['missing']} not recorded; {counts['connections']} connections; "
        f"{counts['look_ups']} look-ups, {counts['unknown_names']} of unknown names"
    )


def _report(site: Site, told: Mapping[str, Any]) -> None:
    say(f"{site.title}: {_line(told)}")
    misses = told["misses"]
    for miss in misses[:SHOWN_MISSES]:
        say(f"  not recorded: {miss}")
    if len(misses) > SHOWN_MISSES:
        say(f"  and {len(misses) - SHOWN_MISSES} more (--json has them)")
