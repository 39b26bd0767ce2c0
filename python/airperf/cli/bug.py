"""What is left of a bug: a file with its traceback, named by its hash.

Leaves out sending it anywhere.
"""

from __future__ import annotations

import hashlib
import platform
import tempfile
import traceback
from pathlib import Path

from airperf import __version__


def report(error: Exception, arguments: list[str]) -> str:
    """Writes the traceback to a file named by its hash and says where it is."""
    text = (
        f"airperf {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"arguments: {arguments!r}\n\n{''.join(traceback.format_exception(error))}"
    )
    identity = hashlib.sha256(text.encode()).hexdigest()[:8]
    place = ""
    try:
        path = Path(tempfile.gettempdir()) / f"airperf-bug-{identity}.txt"
        path.write_text(text, encoding="utf-8")
        place = f"; details in {path}"
    except OSError:
        pass
    return f"internal error {identity} ({type(error).__name__}){place}. This is a bug: please report it."
