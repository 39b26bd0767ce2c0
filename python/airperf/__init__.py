"""airperf: how well will the Web work over this wireless network, what breaks first, what to change.

The rooms, in the order data flows: ``scenario`` → ``testbed`` → ``records`` → ``analysis`` → ``plots`` →
``report``; ``experiment`` drives many runs and ``cli`` is the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airperf.records.capture import open_capture

    __version__: str

__all__ = ["__version__", "open_capture"]


def __getattr__(name: str) -> Any:
    """Loads what takes its time only when it is used."""
    if name == "open_capture":
        return import_module("airperf.records.capture").open_capture
    if name == "__version__":
        metadata = import_module("importlib.metadata")
        try:
            return metadata.version("airperf")
        except metadata.PackageNotFoundError:  # a source tree that was never installed
            return "0.0.0+source"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
