"""``airperf trace``: what captures of anybody say about connections, exchanges, frames and airtime.

Reference: docs/reference/captures.md for every definition. Leaves out the analysis, which is one pass in
Rust; each verb here asks for the tables it shows and no others.
"""

from __future__ import annotations

import click

from airperf.cli.program import Verbs

HERE = "airperf.cli.trace"

PLACES = {
    "summary": f"{HERE}.summary:command",
    "connections": f"{HERE}.tables:connections",
    "exchanges": f"{HERE}.tables:exchanges",
    "frames": f"{HERE}.frames:command",
    "series": f"{HERE}.tables:series",
    "retransmissions": f"{HERE}.tables:retransmissions",
    "sequence": f"{HERE}.sequence:command",
    "export": f"{HERE}.export:command",
    "report": f"{HERE}.report:command",
}


@click.group("trace", cls=Verbs, places=PLACES)
def command() -> None:
    """Analyse captures: pcap or pcapng, plain, gzip or zstd, from any tool.

    FILE is a capture, a quoted pattern, "-" for standard input, a run directory (its air.pcapng) or a
    directory that "trace export" wrote. Several files are one capture, one after the other.
    """
