"""``airperf trace export``: the forms that are made of a capture's tables.

Reference: docs/reference/captures.md, forms. Leaves out Parquet and pcapng, which the engine writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from airperf import __version__
from airperf.cli.trace.options import Asked, finish, opened
from airperf.cli.trace.writing import emit, new_folder
from airperf.files import pretty_json, write_atomic
from airperf.records.capture import Capture
from airperf.records.formats import text, zeek
from airperf.records.formats.har import har
from airperf.records.formats.tcptrace import tcptrace

FILES: dict[str, tuple[tuple[str, ...], Callable[[Capture], Iterator[str]]]] = {
    "har": (
        ("exchanges", "connections"),
        lambda capture: har(capture.scan("exchanges"), capture.scan("connections"), __version__),
    ),
    "tcptrace": (
        ("connections", "segments"),
        lambda capture: tcptrace(capture.scan("connections"), capture.scan("segments")),
    ),
}
"""Formats that are one file: the tables they need, and their text."""


def one_file(asked: Asked, kind: str, out: Path | None) -> int:
    """Writes HAR or tcptrace's CSV to a file, or to stdout."""
    tables, write = FILES[kind]
    with opened(asked, tables) as capture:
        emit(write(capture), out)
        return finish(capture)


def texts(asked: Asked, tables: tuple[str, ...], kind: str, out: Path) -> int:
    """Writes a folder with a CSV or NDJSON file per table."""
    writer = {"csv": text.csv, "ndjson": text.ndjson}[kind]
    with opened(asked, tables) as capture:
        with new_folder(out) as folder:
            for table in tables:
                emit(writer(capture.scan(table)), folder / f"{table}.{kind}")
            write_atomic(folder / "summary.json", pretty_json({"schema": 1, **capture.summary}))
        click.echo(out)
        return finish(capture)


def zeek_logs(asked: Asked, kind: str, out: Path) -> int:
    """Writes a folder with Zeek's two logs."""
    as_json = kind == "zeek-json"
    with opened(asked, ("connections", "exchanges")) as capture:
        connections = capture.scan("connections")
        with new_folder(out) as folder:
            emit(zeek.conn_log(connections, as_json=as_json), folder / "conn.log")
            emit(zeek.http_log(capture.scan("exchanges"), connections, as_json=as_json), folder / "http.log")
        click.echo(out)
        return finish(capture)
