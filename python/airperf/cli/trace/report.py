"""``airperf trace report``: one offline HTML page about a capture.

Leaves out what is on it (``airperf.report.capture``).
"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from airperf.cli.options import FilePath
from airperf.cli.trace.options import Asked, against_option, captures, finish, opened
from airperf.records.capture import TABLES
from airperf.records.selection import capture_files
from airperf.report.capture import capture_report


@click.command("report")
@captures
@click.option("--out", type=FilePath, default=None, help="HTML file to write (default: beside FILE).")
@against_option
def command(asked: Asked, out: Path | None, against: Path | None) -> int:
    """Write series, distributions, connections, retransmissions, airtime and sequence plots as HTML."""
    asked.spare(out)
    path = out or _beside(asked.files[0])
    words = ["airperf", "trace", "report", *asked.files, *asked.filters]
    with opened(asked, TABLES) as capture:
        click.echo(capture_report(capture, path, command=shlex.join(words), against=asked.run(against)))
        return finish(capture)


def _beside(file: str) -> Path:
    if file == "-":
        return Path("capture.report.html")
    first = Path(file) if Path(file).is_dir() else Path(capture_files([file])[0])
    return first.with_name(f"{first.name}.report.html")
