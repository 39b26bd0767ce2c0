"""Tables as columns of text: one line per row, never wrapped, as wide as what is in them.

Columns have a rank; where the width is limited, those of highest rank are left out until a line fits.
Leaves out what the columns of each table are (``columns.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from airperf.records.formats.text import pieces

NONE = "—"
GAP = "  "
LONGEST_TEXT = 60
"""A text longer than this is cut, with an ellipsis: CSV and JSON have all of it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column for people: title, text of a cell, whether it is a number, and when to leave it out."""

    title: str
    cell: pl.Expr
    right: bool = True
    rank: int = 0


def plain(schema: pl.Schema, names: Iterable[str]) -> list[Column]:
    """Columns of a table as they are."""
    return [
        Column(name, pl.col(name).cast(pl.String), right=schema[name].is_numeric(), rank=0) for name in names
    ]


def lines(
    table: pl.LazyFrame, columns: Sequence[Column], width: int | None, limit: int | None = None
) -> tuple[list[str], Iterator[str]]:
    """Titles of the columns that were left out, and the lines, titles first."""
    texts = table.select(_cell(column).alias(str(place)) for place, column in enumerate(columns))
    parts = pieces(texts, limit)
    first = next(parts)
    widths = _widths(first, [len(column.title) for column in columns])
    shown = _fitting(columns, widths, width)
    left_out = [column.title for place, column in enumerate(columns) if place not in shown]
    return left_out, _lines(columns, shown, widths, first, parts)


def _lines(
    columns: Sequence[Column],
    shown: list[int],
    widths: list[int],
    first: pl.DataFrame,
    rest: Iterator[pl.DataFrame],
) -> Iterator[str]:
    heads = [
        columns[i].title.rjust(widths[i]) if columns[i].right else columns[i].title.ljust(widths[i])
        for i in shown
    ]
    yield GAP.join(heads).rstrip()
    for piece in _chain(first, rest):
        widths = _widths(piece, widths)
        padded = [
            pl.col(str(i)).str.pad_start(widths[i])
            if columns[i].right
            else pl.col(str(i)).str.pad_end(widths[i])
            for i in shown
        ]
        yield from piece.select(pl.concat_str(padded, separator=GAP).str.strip_chars_end()).to_series()


def _chain(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _cell(column: Column) -> pl.Expr:
    text = column.cell.fill_null(NONE)
    if column.right:
        return text
    return (
        pl.when(text.str.len_chars() > LONGEST_TEXT)
        .then(text.str.slice(0, LONGEST_TEXT - 1) + "…")
        .otherwise(text)
    )


def _widths(piece: pl.DataFrame, least: list[int]) -> list[int]:
    longest = piece.select(pl.all().str.len_chars().max()).row(0) if piece.height else [0] * len(least)
    return [max(a, b or 0) for a, b in zip(least, longest, strict=True)]


def _fitting(columns: Sequence[Column], widths: list[int], width: int | None) -> list[int]:
    shown = list(range(len(columns)))
    if width is None:
        return shown
    while sum(widths[i] for i in shown) + len(GAP) * (len(shown) - 1) > width:
        # The last one of those that matter least.
        least = max(shown, key=lambda i: (columns[i].rank, i))
        if columns[least].rank == 0:
            break
        shown.remove(least)
    return shown
