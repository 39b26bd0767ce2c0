"""``airperf replay``: an emulated run once more in virtual time, frame by frame.

Model: house rule 2; identical means byte-identical frame records. Leaves out simulated runs: the same seed
repeats those.
"""

from __future__ import annotations

from pathlib import Path

import click

from airperf.cli.options import FolderPath, json_flag
from airperf.cli.output import print_json, say
from airperf.errors import InputError
from airperf.records import open_run
from airperf.testbed import replay


@click.command("replay")
@click.argument("folder", metavar="DIR", type=FolderPath)
@json_flag
def command(folder: Path, as_json: bool) -> int:
    """Re-run the arrivals of emulated run DIR; exit 0 only if the frame records are identical, else 3."""
    run = open_run(folder)
    if "arrivals.bin" not in run.manifest.files:
        raise InputError(f"{folder}: has no arrivals.bin; only emulated runs at level full can be replayed")
    run.verify("arrivals.bin")
    run.verify("frames.parquet")
    answer = replay(folder)
    if as_json:
        print_json({"schema": 1, "run": str(folder), **answer})
    if answer["identical"]:
        say(f"identical: {answer['frames']} frames")
        return 0
    say(f"different: first at {answer['first_difference']}")
    return 3
