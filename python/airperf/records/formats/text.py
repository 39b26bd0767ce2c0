r"""Tables in pieces, with every text made harmless, as CSV and JSON.

Model: names, URLs and SSIDs of a capture are an attacker's to choose; a character that does not print is
written as ``\xNN``. RFC 4180 (CSV), RFC 8259 (JSON). Memory holds one piece. Leaves out Parquet, which the
engine writes.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

PIECE_ROWS = 1 << 16
"""Rows that are in memory at once."""

# What Python's str.isprintable refuses: control, format, surrogate, private and unassigned characters, and
# separators other than the space.
_UNPRINTABLE = r"[\p{C}\p{Zl}\p{Zp}]|[\p{Zs}--\x20]"


def pieces(table: pl.LazyFrame, limit: int | None = None) -> Iterator[pl.DataFrame]:
    """The rows of a table, piece by piece, texts harmless; at least one piece, so that columns are known."""
    done = 0
    while True:
        rows = PIECE_ROWS if limit is None else min(PIECE_ROWS, limit - done)
        piece = table.slice(done, rows).collect()
        if done == 0 or piece.height:
            yield harmless(piece)
        done += piece.height
        if piece.height < PIECE_ROWS or done == limit:
            return


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    r"""The table with every unprintable character of its texts as ``\xNN``."""
    unsafe = [
        column.name
        for column in table.iter_columns()
        if column.dtype == pl.String and column.str.contains(_UNPRINTABLE).any()
    ]
    if not unsafe:
        return table
    return table.with_columns(pl.col(unsafe).map_elements(one_line, return_dtype=pl.String))


def one_line(text: str) -> str:
    r"""``text`` with everything that does not print as ``\xNN``, line ends and tabs too."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def csv(table: pl.LazyFrame) -> Iterator[str]:
    """CSV with a line of column names; null is empty."""
    for number, piece in enumerate(pieces(table)):
        yield piece.write_csv(include_header=number == 0)


def ndjson(table: pl.LazyFrame) -> Iterator[str]:
    """One JSON object per line."""
    for piece in pieces(table):
        yield piece.write_ndjson()


def json_array(table: pl.LazyFrame) -> Iterator[str]:
    """One JSON array of objects, one per line."""
    yield "["
    lead = "\n"
    for text in ndjson(table):
        if text:
            yield lead + text.rstrip("\n").replace("\n", ",\n")
            lead = ",\n"
    yield "\n]"
