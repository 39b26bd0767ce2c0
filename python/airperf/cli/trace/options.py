"""What every ``trace`` verb has in common: files, filters, progress, and how a capture ends.

Reference: exit codes 0, 2 (no capture, or usage), 3 (damaged, analysed up to there), 130. Leaves out formats.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from airperf.cli.options import FolderPath
from airperf.cli.output import say
from airperf.errors import InputError
from airperf.quantities import duration_ns
from airperf.records.capture import Capture, is_run_folder, open_capture
from airperf.records.capture import Progress as Tell
from airperf.records.selection import SORT_WINDOW_NS, Moment, Selection, address, capture_files

Command = Callable[..., int]

PATIENCE_S = 0.5
"""A pass shorter than this shows no progress."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which packets of which files."""

    files: tuple[str, ...]
    selection: Selection
    filters: tuple[str, ...] = ()
    """The options that chose the packets, as they were typed."""

    def run(self, named: Path | None) -> Path | None:
        """The run to compare with: the one named, else the directory that was given whole as FILE."""
        everything = not any(self.selection.core()["filter"].values())
        folder = Path(self.files[0])
        if named or len(self.files) > 1 or not everything or not is_run_folder(folder):
            return named
        return folder

    def spare(self, out: Path | None) -> None:
        """Refuses an output that is one of the inputs."""
        if out is None or not out.exists():
            return
        for file in capture_files(file for file in self.files if file != "-"):
            if out.samefile(file):
                raise InputError(f"{out}: is the capture itself, which is never overwritten")


def captures(function: Command) -> Any:
    """Adds FILE… and the filters to a command, which gets them as one ``asked``."""

    @functools.wraps(function)
    def wrapped(
        files: tuple[str, ...],
        clients: tuple[str, ...],
        servers: tuple[str, ...],
        ports: tuple[int, ...],
        begin: str | None,
        end: str | None,
        strict_checksum: bool,
        sort: bool,
        sort_window: str | None,
        threads: int | None,
        **rest: Any,
    ) -> int:
        window = SORT_WINDOW_NS if sort else None
        selection = Selection(
            clients=tuple(map(address, clients)),
            servers=tuple(map(address, servers)),
            ports=ports,
            begin=Moment.parse(begin) if begin else None,
            end=Moment.parse(end) if end else None,
            strict_checksum=strict_checksum,
            sort_window_ns=duration_ns(sort_window) if sort_window else window,
            threads=threads,
        )
        given = {"--client": clients, "--server": servers, "--port": ports}
        filters = [(name, str(value)) for name, values in given.items() for value in values]
        once = {"--from": begin, "--to": end, "--sort-window": sort_window}
        filters += [(name, value) for name, value in once.items() if value]
        flags = {"--strict-checksum": strict_checksum, "--sort": sort}
        words = [word for option in filters for word in option]
        words += [name for name, value in flags.items() if value]
        return function(asked=Asked(files, selection, tuple(words)), **rest)

    decorated: Any = wrapped
    for option in reversed(OPTIONS):
        decorated = option(decorated)
    return decorated


OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("files", metavar="FILE...", nargs=-1, required=True),
    click.option(
        "--client", "clients", metavar="ADDRESS", multiple=True, help="Only this client's (repeatable)."
    ),
    click.option(
        "--server", "servers", metavar="ADDRESS", multiple=True, help="Only this server's (repeatable)."
    ),
    click.option(
        "--port",
        "ports",
        type=click.IntRange(0, 65535),
        multiple=True,
        help="Only with this port (repeatable).",
    ),
    click.option(
        "--from", "begin", metavar="TIME", help="From here: 10s after the first packet, or RFC 3339."
    ),
    click.option("--to", "end", metavar="TIME", help="Up to here, written like --from."),
    click.option(
        "--strict-checksum", is_flag=True, help="Drop packets with bad checksums (default: accept)."
    ),
    click.option("--sort", is_flag=True, help="Put packets into the order of their time stamps."),
    click.option("--sort-window", metavar="TIME", help="How far to look for earlier ones (default: 1s)."),
    click.option("--threads", type=click.IntRange(1, 64), help="Results do not depend on it."),
)

against_option = click.option(
    "--against",
    type=FolderPath,
    default=None,
    help="Compare with what this run itself recorded (default: FILE, if it is a run directory).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")


@contextmanager
def opened(asked: Asked, tables: Iterable[str]) -> Iterator[Capture]:
    """The capture that was asked for, analysed with these tables, with progress on a terminal."""
    wanted = tuple(tables)
    if "-" in asked.files and sys.stdin.isatty():
        raise InputError("-: standard input is a terminal; pipe a capture into it")
    with progress() as tell:
        capture = open_capture(asked.files, tables=wanted, selection=asked.selection, progress=tell)
        capture.require(*wanted, progress=tell)
    with capture:
        yield capture


@contextmanager
def progress() -> Iterator[Tell | None]:
    """A bar of the bytes done, once it takes long; nothing when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    begin = time.monotonic()
    bar: Any = None

    def tell(done: int, total: int | None) -> None:
        nonlocal bar
        if bar is None and time.monotonic() - begin > PATIENCE_S:
            bar = import_module("airperf.cli.trace.bar").Bar()
        if bar is not None:
            bar.tell(done, total)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def finish(capture: Capture) -> int:
    """Says what a reader of the result must know, and gives the exit code."""
    notices = [str(notice) for notice in capture.summary.get("notices") or ()]
    for notice in notices:
        say(f"{capture.name}: {notice}")
    if not capture.truncated:
        return 0
    end = capture.summary["truncated_at"]
    if not any("truncated" in notice for notice in notices):
        say(f"{capture.name}: truncated at byte {end}; analysed up to there")
    return 3


def origin_ns(capture: Capture) -> int:
    """When the capture began; 0 when it holds no packet."""
    return int(capture.summary.get("first_ns") or 0)
