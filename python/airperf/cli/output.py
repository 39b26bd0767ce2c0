"""Where words go: JSON to stdout, everything else to stderr, progress only on terminals.

Leaves out figures and the HTML report.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from airperf.files import pretty_json, printable

ERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
OUT = Console(highlight=False, markup=False)


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
    console = OUT if OUT.is_terminal else Console(highlight=False, markup=False, width=140)
    console.print(table)


def number(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` significant figures; an em dash for none."""
    if value is None:
        return "—"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):g}" if "e" not in text or abs(value) < 1e7 else text
