"""``airperf trace summary``: the capture in one screen, or as the JSON object of the contract.

Reference: docs/reference/captures.md. Leaves out tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from airperf.cli.output import print_json
from airperf.cli.trace.options import Asked, against_option, captures, finish, json_option, opened
from airperf.files import printable
from airperf.records.formats.summary import Section, sections


@click.command("summary")
@captures
@against_option
@json_option
def command(asked: Asked, against: Path | None, as_json: bool) -> int:
    """Say what is in a capture: connections by class, retransmissions, HTTP, MAC, anomalies."""
    run = asked.run(against)
    with opened(asked, ("connections",) if run else ()) as capture:
        summary = dict(capture.summary)
        if run:
            summary["checks"] = capture.check(run)
        if as_json:
            print_json({"schema": 1, **summary})
        else:
            click.echo(printable("\n".join(_lines(sections(summary)))))
        return finish(capture)


def _lines(found: Iterable[Section]) -> Iterable[str]:
    """Sections with their columns aligned among themselves."""
    shown = list(found)
    rows = [row for section in shown for row in section.rows]
    name = max((len(row[0]) for row in rows), default=0)
    value = max((len(row[1]) for row in rows), default=0)
    for number, section in enumerate(shown):
        if number:
            yield ""
        yield section.title
        for row in section.rows:
            rest = row[2:]
            # Percents and rates right-aligned, remarks after them.
            tail = f"  {rest[0]:>13}" if rest else ""
            tail += f"  {rest[1]}" if len(rest) > 1 else ""
            yield f"  {row[0]:<{name}}  {row[1]:>{value}}{tail}".rstrip()
