"""``airperf trace frames``: every captured frame, as a table or as text at all layers.

Reference: docs/reference/capture-records.md. Leaves out filters of payload: Wireshark has those.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from airperf.cli.trace.options import Asked, captures, finish, opened, progress
from airperf.cli.trace.tables import table_options
from airperf.cli.trace.writing import PLAIN_FORMATS, choose, write_rows
from airperf.errors import InputError
from airperf.files import whole_file
from airperf.records.capture import describe


@click.command("frames")
@captures
@click.option("--ascii", "as_ascii", is_flag=True, help="Decode each frame at all layers, as text.")
@table_options(PLAIN_FORMATS)
def command(
    asked: Asked,
    as_ascii: bool,
    kind: str,
    names: str | None,
    limit: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """List frames: MAC addresses, rate, retry, frame check sequence, what they carry."""
    kind = "json" if as_json else kind
    asked.spare(out)
    if as_ascii:
        if kind != "table" or names:
            raise InputError("--ascii is a form of its own: leave out --format, --columns and --json")
        return _describe(asked, limit, out)
    with opened(asked, ("frames",)) as capture:
        rows = capture.scan("frames")
        write_rows(capture, "frames", rows, kind, chosen=choose(rows, names), limit=limit, out=out)
        return finish(capture)


def _describe(asked: Asked, limit: int | None, out: Path | None) -> int:
    if out is None:
        capture = describe(asked.files, asked.selection, sys.stdout.write, limit)
        sys.stdout.flush()
    else:
        with whole_file(out) as file, progress():
            capture = describe(asked.files, asked.selection, lambda text: file.write(text.encode()), limit)
    return finish(capture)
