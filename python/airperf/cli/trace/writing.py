"""Where a verb's result goes: to stdout, or whole into a file.

Leaves out what the formats are (``airperf.records.formats``).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from airperf.cli.output import OUT, say
from airperf.cli.trace.options import origin_ns
from airperf.errors import InputError
from airperf.files import whole_file
from airperf.records.capture import Capture
from airperf.records.formats import listing, text
from airperf.records.formats.columns import columns as usual_columns

TERMINAL_ROWS = 50
"""Rows that are shown on a terminal unless told otherwise; a file or pipe gets all."""

PLAIN_FORMATS = ("table", "csv", "json", "ndjson", "parquet")
"""Formats that every table has."""


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder that gets its name when everything is in it, and is gone when something is raised."""
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.partial-", dir=out.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.rename(out)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def emit(parts: Iterable[str], out: Path | None) -> None:
    """Writes text to a file, whole or not at all, or to stdout."""
    if out is None:
        for part in parts:
            sys.stdout.write(part)
        sys.stdout.flush()
        return
    with whole_file(out) as file:
        for part in parts:
            file.write(part.encode())


def write_rows(
    capture: Capture,
    name: str,
    rows: pl.LazyFrame,
    kind: str,
    *,
    chosen: Sequence[str],
    limit: int | None,
    out: Path | None,
    origin: int | None = None,
) -> None:
    """Writes rows of the table ``name`` in one of the plain formats.

    Times for people count from ``origin``, ns since 1970; from the capture's first packet when it is None.
    """
    rows = rows.select(chosen) if chosen else rows
    if kind == "table":
        begin = origin_ns(capture) if origin is None else origin
        usual = [] if chosen else usual_columns(name, begin)
        _write_table(rows, usual or listing.plain(rows.collect_schema(), chosen), limit, out)
        return
    rows = rows.limit(limit) if limit else rows
    match kind:
        case "csv":
            emit(text.csv(rows), out)
        case "ndjson":
            emit(text.ndjson(rows), out)
        case "json":
            emit(_object(capture, name, rows), out)
        case "parquet":
            _write_parquet(rows, out)
        case _:
            raise ValueError(kind)


def choose(rows: pl.LazyFrame, names: str | None) -> list[str]:
    """The columns that ``--columns`` names; none when it was not given."""
    if not names:
        return []
    known = rows.collect_schema().names()
    chosen = known if names == "all" else [name.strip() for name in names.split(",")]
    if unknown := [name for name in chosen if name not in known]:
        raise InputError(f"--columns: no column {', '.join(unknown)}; there are {', '.join(known)}")
    return list(dict.fromkeys(chosen))


def _write_table(
    rows: pl.LazyFrame, shown: Sequence[listing.Column], limit: int | None, out: Path | None
) -> None:
    live = out is None and OUT.is_terminal
    if limit is None and live:
        limit = TERMINAL_ROWS
    width = shutil.get_terminal_size().columns if live else None
    left_out, lines = listing.lines(rows, shown, width, limit or None)
    emit((line + "\n" for line in lines), out)
    total = int(rows.select(pl.len()).collect().item())
    if limit and total > limit:
        say(f"{total - limit:,} more rows: --limit 0 shows all {total:,}")
    if left_out:
        say(f"too narrow for: {', '.join(left_out)}")


def _object(capture: Capture, name: str, rows: pl.LazyFrame) -> Iterable[str]:
    end = capture.summary.get("truncated_at")
    yield f'{{"schema": 1, "truncated_at": {"null" if end is None else int(end)}, "{name}": '
    yield from text.json_array(rows)
    yield "}\n"


def _write_parquet(rows: pl.LazyFrame, out: Path | None) -> None:
    if out is None:
        if sys.stdout.isatty():
            raise InputError("Parquet is not for terminals: give --out FILE, or pipe it")
        rows.collect().write_parquet(sys.stdout.buffer)
        return
    with whole_file(out) as file:
        rows.collect().write_parquet(file)
