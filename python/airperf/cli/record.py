"""``airperf record``: a site as it is browsed, in the form that ``airperf host`` serves.

Model: docs/guide/record-a-site.md. Leaves out hosting it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from airperf.cli.options import FolderPath, json_flag
from airperf.cli.output import ERR, print_json, say
from airperf.errors import InputError
from airperf.sites import Kept, Recording, read_proxied, write_site
from airperf.testbed import Wanted, record_command, record_page


@click.command("record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", type=FolderPath, required=True, help="The folder of the site to be made.")
@click.option("--browse", "url", default=None, metavar="URL", help="Load this page with Chromium.")
@click.option("--keep-cookies", is_flag=True, help="Keep fields with cookies and passwords.")
@click.option("--allow-target", is_flag=True, help="You may record servers outside the lab: contact them.")
@click.option("--no-sandbox", is_flag=True, help="Run Chromium without its sandbox, as root must.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(1, 3_600), default=120.0, show_default=True)
@json_flag
@click.argument("command", metavar="[-- COMMAND…]", nargs=-1, type=click.UNPROCESSED)
def command(
    out: Path,
    url: str | None,
    keep_cookies: bool,
    allow_target: bool,
    no_sandbox: bool,
    timeout_s: float,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND, or load URL with Chromium, through a proxy that records every exchange as a site.

    Servers of the lab are recorded (loopback; inside airperf host, the hosted site); others are contacted
    only with --allow-target. Cookies and passwords are left out of the site. The exit code is COMMAND's.
    """
    if command[:1] == ("--",):
        command = command[1:]
    if bool(command) == bool(url):
        raise InputError("write what to browse with: -- COMMAND, or --browse URL")
    if url and not no_sandbox and os.geteuid() == 0:
        raise InputError("as root Chromium needs --no-sandbox; better run this as yourself")
    if (out / "site.json").exists():
        raise InputError(f"{out}: there is a site already; name another folder")
    with tempfile.TemporaryDirectory(prefix="airperf-record-") as name:
        folder = Path(name)
        if url:
            with ERR.status("recording"):
                wanted = Wanted(url, timeout_s=timeout_s, sandbox=not no_sandbox)
                code, told = 0, record_page(folder, wanted, anywhere=allow_target)
        else:
            code, told = record_command(folder, command, anywhere=allow_target)
        _complain(told)
        recording = Recording(title=out.name, kept=Kept(cookies=keep_cookies))
        read_proxied(folder, recording)
        site = write_site(recording, out, {"kind": "proxy"})
    say(f"{out}: {site.exchanges} exchanges, {len(site.origins)} origins, {site.body_bytes / 1024:,.0f} KiB")
    for what, count in site.notes.items():
        say(f"  note: {count} {what}")
    if as_json:
        shown = {key: told[key] for key in ("exchanges", "refused", "failed")}
        origins = list(site.origins)
        print_json(
            {"schema": 1, "site": str(out), "origins": origins, "notes": site.notes, "status": code, **shown}
        )
    return code


def _complain(told: dict[str, Any]) -> None:
    for key in ("refused", "failed"):
        if told[key]:
            say(f"note: {told[key]} requests {key}, the last failure: {told['last_failure']}")
