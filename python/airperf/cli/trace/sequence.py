"""``airperf trace sequence``: the segments of one connection, as a table or as a graph for xplot.

Reference: docs/reference/captures.md. A second file, for the other direction, only when asked for. Leaves
out the zoomable plot, which is in ``trace report``.
"""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from airperf.cli.trace.options import Asked, captures, finish, opened
from airperf.cli.trace.tables import table_options
from airperf.cli.trace.writing import PLAIN_FORMATS, choose, emit, write_rows
from airperf.errors import InputError
from airperf.records.capture import Capture
from airperf.records.formats.xplot import xplot

DIRECTIONS = ("down", "up", "both")


@click.command("sequence")
@captures
@click.option("--connection", type=click.IntRange(0), default=None, help="Its number in 'trace connections'.")
@click.option(
    "--direction",
    type=click.Choice(DIRECTIONS),
    default=None,
    help="What the server (down) or the client (up) sent; default: both, for xplot down.",
)
@table_options((*PLAIN_FORMATS, "xplot"))
def command(
    asked: Asked,
    connection: int | None,
    direction: str | None,
    kind: str,
    names: str | None,
    limit: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """List the segments of one connection: sequence numbers, windows, what was sent before."""
    kind = "json" if as_json else kind
    asked.spare(out)
    if kind == "xplot" and direction == "both" and out is None:
        raise InputError("--direction both makes two files: say where with --out NAME.xpl")
    with opened(asked, ("segments", "connections")) as capture:
        number, title = _chosen(capture, connection)
        rows = capture.scan("segments").filter(pl.col("connection") == number)
        if kind == "xplot":
            for way in ("down", "up") if direction == "both" else (direction or "down",):
                place = out.with_suffix(f".{way}{out.suffix}") if out and direction == "both" else out
                client, server = title
                name = f"{client}_==>_{server}" if way == "up" else f"{server}_==>_{client}"
                emit(xplot(rows, name, up=way == "up"), place)
        else:
            if direction in {"up", "down"}:
                rows = rows.filter(pl.col("up") == (direction == "up"))
            write_rows(capture, "segments", rows, kind, chosen=choose(rows, names), limit=limit, out=out)
        return finish(capture)


def _chosen(capture: Capture, connection: int | None) -> tuple[int, tuple[str, str]]:
    """The connection's number, which may be left out where there is only one, and its ends."""
    table = capture.scan("connections").select("connection", "client", "client_port", "server", "server_port")
    if connection is None:
        count = int(capture.summary["tcp"]["connections"])
        if count != 1:
            raise InputError(
                f"{capture.name}: has {count:,} connections; choose one with --connection N "
                "('airperf trace connections' lists them)"
            )
        found = table.collect()
    else:
        found = table.filter(pl.col("connection") == connection).collect()
    if found.is_empty():
        raise InputError(f"{capture.name}: no connection {connection}")
    row = found.row(0, named=True)
    ends = (f"{row['client']}:{row['client_port']}", f"{row['server']}:{row['server_port']}")
    return int(row["connection"]), ends
