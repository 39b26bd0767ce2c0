"""``airperf load``: ask a live server for pages on a schedule, whatever becomes of them.

Reference: docs/reference/load.md. ``airperf load httperf …`` takes httperf's own flags and prints its report.
Leaves out the generating, which is the crate ``airperf-load``.
"""

from __future__ import annotations

from typing import Any

import click

from airperf.cli.load.httperf import command as httperf
from airperf.cli.load.options import command as url


class Load(click.Group):
    """A group of one: its first word is ``httperf``, or else a URL or an option of ``airperf load``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of whichever of the two commands is meant."""
        if args[:1] == ["httperf"]:
            return httperf.make_context(f"{info_name} httperf", args[1:], parent, **extra)
        return url.make_context(info_name, args, parent, **extra)


command = Load("load", help=url.help)
