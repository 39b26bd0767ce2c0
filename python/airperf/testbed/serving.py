"""A part of the core that serves until it is told to stop, in a thread of this process.

Model: none. Leaves out what it serves: that is ``_core``'s, called by who makes one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

READY_S = 30.0

Tell = Callable[[str], bool]
"""Takes what is told as JSON; false when no more is wanted."""


class Serving:
    """Calls ``serve`` at once; ``told`` is what it said last, ``problem`` why it ended early."""

    def __init__(self, serve: Callable[[Tell], str]) -> None:
        self.told: dict[str, Any] | None = None
        self.problem: Exception | None = None
        self._ready, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(serve,), daemon=True)
        self._thread.start()

    def _serve(self, serve: Callable[[Tell], str]) -> None:
        try:
            self.told = json.loads(serve(self._tell))
        except (OSError, ValueError) as error:
            self.problem = error
        self._ready.set()

    def _tell(self, text: str) -> bool:
        self.told = json.loads(text)
        self._ready.set()
        return not self._stopping.is_set()

    def wait(self) -> dict[str, Any] | None:
        """What it tells first; None when it could not start."""
        self._ready.wait(READY_S)
        return self.told

    def stop(self) -> dict[str, Any] | None:
        """Has it end; what it told last."""
        self._stopping.set()
        self._thread.join(READY_S)
        return self.told
