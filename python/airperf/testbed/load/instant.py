"""When a run is to begin, on the clock that the engine lives by.

Model: CLOCK_MONOTONIC never steps, so all instants become readings of it at once; several generators on one
machine begin together when they are given one instant. Leaves out clocks of other machines.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

from airperf.errors import InputError
from airperf.quantities import duration_ns

_HELP = "write +2s, an instant with its zone such as 2026-11-21T10:00:00Z, or @NS of CLOCK_MONOTONIC"


def monotonic_instant(text: str) -> int:
    """``+2s``, an RFC 3339 instant or ``@NS`` as a reading of CLOCK_MONOTONIC in ns; the past is refused."""
    now = time.monotonic_ns()
    if text.startswith("+"):
        return now + duration_ns(text[1:], bare="s")
    if re.fullmatch(r"@\d{1,18}", text):
        at = int(text[1:])
    else:
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            raise InputError(f"--start-at {text!r}: not an instant; {_HELP}") from None
        if instant.tzinfo is None:
            raise InputError(f"--start-at {text!r}: lacks its time zone; {_HELP}")
        epoch = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        at = now + (instant - epoch) // timedelta(microseconds=1) * 1000 - time.time_ns()
    if at < now:
        raise InputError(f"--start-at {text!r}: is {(now - at) / 1e9:.3g} s ago")
    return at
