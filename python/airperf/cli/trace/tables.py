"""``airperf trace connections | exchanges | series | retransmissions``: one table each.

Reference: docs/reference/capture-records.md. Leaves out frames and sequence data, which have verbs with
options of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import polars as pl

from airperf.cli.options import FilePath
from airperf.cli.trace.options import Asked, captures, finish, json_option, opened
from airperf.cli.trace.writing import PLAIN_FORMATS, choose, emit, write_rows
from airperf.errors import InputError
from airperf.quantities import duration_ns
from airperf.records.formats import tcptrace, zeek
from airperf.records.formats.retransmissions import retransmission_lines

CONNECTION_FORMATS = (*PLAIN_FORMATS, "zeek", "zeek-json", "tcptrace")
EXCHANGE_FORMATS = (*PLAIN_FORMATS, "zeek", "zeek-json")


def table_options(formats: tuple[str, ...]) -> Callable[[Any], Any]:
    """Options of a verb that shows one table."""

    def add(function: Any) -> Any:
        for option in (
            json_option,
            click.option("--out", type=FilePath, default=None, help="Write to this file (default: stdout)."),
            click.option(
                "--limit", type=click.IntRange(0), default=None, help="At most so many rows; 0: all."
            ),
            click.option(
                "--columns", "names", metavar="A,B,…|all", default=None, help="These columns, as recorded."
            ),
            click.option("--format", "kind", type=click.Choice(formats), default="table", show_default=True),
        ):
            function = option(function)
        return function

    return add


@click.command("connections")
@captures
@table_options(CONNECTION_FORMATS)
def connections(
    asked: Asked, kind: str, names: str | None, limit: int | None, out: Path | None, as_json: bool
) -> int:
    """List TCP connections: ends, times, class, octets, retransmissions at TCP and at the MAC."""
    kind = "json" if as_json else kind
    asked.spare(out)
    tables = ("connections", "segments") if kind == "tcptrace" else ("connections",)
    with opened(asked, tables) as capture:
        rows = capture.scan("connections")
        match kind:
            case "zeek" | "zeek-json":
                emit(zeek.conn_log(rows, as_json=kind == "zeek-json"), out)
            case "tcptrace":
                emit(tcptrace.tcptrace(rows, capture.scan("segments")), out)
            case _:
                # By number: the table is in the order in which connections ended.
                ordered = rows.sort("connection").collect().lazy() if kind == "table" else rows
                write_rows(
                    capture, "connections", ordered, kind, chosen=choose(rows, names), limit=limit, out=out
                )
        return finish(capture)


@click.command("exchanges")
@captures
@table_options(EXCHANGE_FORMATS)
def exchanges(
    asked: Asked, kind: str, names: str | None, limit: int | None, out: Path | None, as_json: bool
) -> int:
    """List HTTP/1 exchanges: request, status, response time, sizes, how they ended."""
    kind = "json" if as_json else kind
    asked.spare(out)
    log = kind in {"zeek", "zeek-json"}
    with opened(asked, ("exchanges", "connections") if log else ("exchanges",)) as capture:
        rows = capture.scan("exchanges")
        if log:
            emit(zeek.http_log(rows, capture.scan("connections"), as_json=kind == "zeek-json"), out)
        else:
            write_rows(capture, "exchanges", rows, kind, chosen=choose(rows, names), limit=limit, out=out)
        return finish(capture)


@click.command("series")
@captures
@click.option("--interval", default="1s", show_default=True, metavar="TIME", help="Length of an interval.")
@click.option("--by-client", is_flag=True, help="Rows of each client too, not only of all traffic.")
@table_options(PLAIN_FORMATS)
def series(
    asked: Asked,
    interval: str,
    by_client: bool,
    kind: str,
    names: str | None,
    limit: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Count packets, bytes, connections and requests per second, of all and of each client."""
    kind = "json" if as_json else kind
    asked.spare(out)
    length = duration_ns(interval)
    if length == 0:
        raise InputError("--interval: must be longer than nothing")
    asked = replace(asked, selection=replace(asked.selection, interval_ns=length))
    with opened(asked, ("series",)) as capture:
        rows = capture.scan("series")
        rows = rows if by_client else rows.filter(pl.col("client").is_null())
        # Intervals are whole ones: the first begins before the first packet.
        begin = rows.select(pl.col("time_ns").min()).collect().item()
        write_rows(
            capture, "series", rows, kind, chosen=choose(rows, names), limit=limit, out=out, origin=begin
        )
        return finish(capture)


@click.command("retransmissions")
@captures
@table_options(PLAIN_FORMATS)
def retransmissions(
    asked: Asked, kind: str, names: str | None, limit: int | None, out: Path | None, as_json: bool
) -> int:
    """Count segments sent again, by type and client, at TCP and at the MAC apart."""
    kind = "json" if as_json else kind
    asked.spare(out)
    with opened(asked, ("retransmissions",)) as capture:
        rows = capture.scan("retransmissions")
        chosen = choose(rows, names)
        if kind == "table" and not chosen:
            emit(retransmission_lines(rows.collect()), out)
        else:
            write_rows(capture, "retransmissions", rows, kind, chosen=chosen, limit=limit, out=out)
        return finish(capture)
