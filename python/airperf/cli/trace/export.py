"""``airperf trace export``: every table of a capture, in the form that another tool reads.

Reference: docs/reference/captures.md, forms. Parquet makes a capture directory, which every other ``trace``
verb and ``open_capture`` read again without the capture; pcapng is the capture itself with comments. Leaves
out single tables: their verbs write those.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from airperf.cli.output import say
from airperf.cli.trace.options import Asked, captures, finish, opened, progress
from airperf.errors import InputError
from airperf.records.capture import TABLES, Capture, analyze
from airperf.records.selection import capture_files

FILES = ("har", "tcptrace")
"""Formats that are one file."""

FOLDERS = ("parquet", "csv", "ndjson", "zeek", "zeek-json")
"""Formats that are a folder of files."""

FORMATS = (*FOLDERS, *FILES, "pcapng")
"""Every format; the last is the capture itself."""


@click.command("export")
@captures
@click.option("--format", "kind", type=click.Choice(FORMATS), default="parquet", show_default=True)
@click.option("--tables", "names", metavar="A,B,…", default=None, help="Only these tables (default: all).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder to make, or file for har, tcptrace (default for those: stdout) and pcapng.",
)
def command(asked: Asked, kind: str, names: str | None, out: Path | None) -> int:
    """Write all tables: Parquet, CSV, NDJSON, Zeek's logs, HAR, tcptrace's CSV; or pcapng with comments."""
    if kind == "pcapng":
        return _pcapng(asked, names, out)
    if kind in FILES:
        if names:
            raise InputError(f"--tables: {kind} has a fixed content")
        asked.spare(out)
        return _form("one_file", asked, kind, out)
    if out is None:
        raise InputError(f"{kind} is a folder of files: say where with --out DIR")
    if out.exists():
        raise InputError(f"{out}: exists already and is never overwritten; give another folder")
    if kind.startswith("zeek"):
        return _form("zeek_logs", asked, kind, out)
    wanted = _tables(names)
    return _parquet(asked, wanted, out) if kind == "parquet" else _form("texts", asked, wanted, kind, out)


def _form(name: str, *arguments: object) -> int:
    """Writes a form that is made of tables: loading what reads them takes longer than many a capture."""
    code: int = getattr(import_module("airperf.cli.trace.forms"), name)(*arguments)
    return code


def _pcapng(asked: Asked, names: str | None, out: Path | None) -> int:
    if names:
        raise InputError("--tables: pcapng has a fixed content")
    if out is None:
        raise InputError("pcapng: say where with --out FILE")
    if streams := [file for file in capture_files(asked.files) if not Path(file).is_file()]:
        raise InputError(f"{streams[0]}: is read twice for pcapng; save it to a file first")
    if asked.selection.sort_window_ns is not None:
        raise InputError("--sort: pcapng keeps the order of the capture; sort it first, with reordercap say")
    asked.spare(out)
    with opened(asked, ("frames", "segments", "exchanges")) as capture:
        out.parent.mkdir(parents=True, exist_ok=True)
        with progress() as tell:
            report = capture.annotate(out, tell)
        click.echo(out)
        if report["stand_ins"]:
            say(f"{out}: {report['stand_ins']} empty packets stand for records that cannot be read")
        if report["before_1970"]:
            say(f"{out}: {report['before_1970']} packets are from before 1970, which pcapng cannot hold")
        return finish(capture)


def _tables(names: str | None) -> tuple[str, ...]:
    if not names:
        return TABLES
    wanted = tuple(dict.fromkeys(name.strip() for name in names.split(",")))
    if unknown := [name for name in wanted if name not in TABLES]:
        raise InputError(f"--tables: no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    return wanted


def _parquet(asked: Asked, tables: tuple[str, ...], out: Path) -> int:
    out.parent.mkdir(parents=True, exist_ok=True)
    with progress() as tell:
        summary = analyze(capture_files(asked.files), out, tables, asked.selection, tell)
    click.echo(out)
    return finish(Capture(str(out), summary))
