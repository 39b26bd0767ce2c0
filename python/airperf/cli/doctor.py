"""``airperf doctor``: what this machine lets airperf do, and what to do about the rest.

Model: fault 39: everything is listed with yes or no and a remedy; ``--clean`` removes only what crashed runs
registered. Leaves out installing anything.
"""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.table import Table

from airperf.cli.output import add_row, print_json, say, show
from airperf.testbed import TESTBEDS, clean, host_need, lacking, probe


def state_dir() -> Path:
    """Where emulated runs register what could outlive them."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "airperf"


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.option(
    "--clean", "do_clean", is_flag=True, help="First remove what crashed emulated runs left behind."
)
def command(as_json: bool, do_clean: bool) -> int:
    """List what testbeds need and whether this machine has it (exit 4 when a testbed cannot run)."""
    if do_clean:
        removed = clean(state_dir())
        say(f"removed: {', '.join(map(str, removed.get('removed', []))) or 'nothing was left'}")
    needs = [*probe(), host_need()]
    if as_json:
        print_json({"schema": 1, "needs": [need.json() for need in needs]})
    else:
        table = Table(title="what this machine has")
        for title in ("need", "ok", "why", "remedy"):
            table.add_column(title, overflow="fold")
        for need in needs:
            add_row(table, need.name, "yes" if need.ok else "no", need.why, "" if need.ok else need.remedy)
        show(table)
    unable = [testbed for testbed in TESTBEDS if lacking(testbed, needs)]
    for testbed in TESTBEDS:
        say(f"testbed {testbed}: {'cannot run here' if testbed in unable else 'can run'}")
    return 4 if unable else 0
