"""Counting Ctrl-C: the first asks for a clean end, the second for an immediate one (fault 5).

Leaves out SIGTERM's default action on workers: their parent's death ends them.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """While entered, SIGINT and SIGTERM only count; whoever works looks at ``count``."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.count = 0
        self.raising = False
        """Set around a call into the engine that ends in order when KeyboardInterrupt reaches it."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._seen)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _seen(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.raising:
            raise KeyboardInterrupt
