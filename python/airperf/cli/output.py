"""Where words go: JSON to stdout, everything else to stderr, progress only on terminals.

Leaves out figures and the HTML report.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from airperf.files import pretty_json, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    ERR: Console
    OUT: Console


def __getattr__(name: str) -> Any:
    """The consoles ``ERR`` and ``OUT``, which only some verbs need: rich takes its time to load."""
    if name == "ERR":
        return _console(stderr=True, soft_wrap=True)
    if name == "OUT":
        return _console()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _console(**settings: Any) -> Console:
    console: Console = import_module("rich.console").Console(highlight=False, markup=False, **settings)
    return console


def complain(text: str) -> None:
    """An error, on stderr, with control characters made harmless."""
    click.echo(f"airperf: {printable(text)}" if "\n" not in text else printable(text), err=True)


def say(text: str) -> None:
    """A remark, on stderr."""
    click.echo(printable(text), err=True)


def print_json(value: Mapping[str, Any]) -> None:
    """The one JSON object of a command."""
    sys.stdout.write(pretty_json(value))
    sys.stdout.flush()


def add_row(table: Table, *cells: str) -> None:
    """Adds a row of texts that may come from files of others: no markup, no control characters."""
    table.add_row(*(printable(cell) for cell in cells))


def show(table: Table) -> None:
    """A table for people, on stdout; full width when stdout is a file."""
    out = _console()
    (out if out.is_terminal else _console(width=140)).print(table)


def number(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` significant figures; an em dash for none."""
    if value is None:
        return "—"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):g}" if "e" not in text or abs(value) < 1e7 else text
