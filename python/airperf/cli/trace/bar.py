"""The bar of bytes done, loaded when a pass takes long enough to want one.

Leaves out when that is (``options.progress``).
"""

from __future__ import annotations

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from airperf.cli.output import ERR


class Bar:
    """A bar on stderr that goes away at the end."""

    def __init__(self) -> None:
        columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=ERR, transient=True)
        self._task = self._bar.add_task("reading", total=None)
        self._bar.start()

    def tell(self, done: int, total: int | None) -> None:
        """Shows that ``done`` bytes of ``total`` are read."""
        self._bar.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        """Takes it away."""
        self._bar.stop()
