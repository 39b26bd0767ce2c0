"""Quantities in words, as options and files give them: times, arrival rates and sizes, exactly.

Reference: docs/reference/scenario.md, "Values"; the scenario checker in Rust reads the same spellings. Where
a caller names a unit for bare numbers, as users of other load generators expect, those are read too. Leaves
out powers and ranges.
"""

from __future__ import annotations

import re
from decimal import Decimal

from airperf.errors import InputError

SECOND_NS = 1_000_000_000
UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": SECOND_NS}
UNITS_NS |= {"min": 60 * SECOND_NS, "h": 3_600 * SECOND_NS}
UNITS_BPS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
UNITS_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

DURATION = re.compile(r"(\d+)(?:\.(\d{1,9}))?\s*(ns|us|µs|ms|s|min|h)")
_NUMBER = re.compile(r"(\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})\s*(\S*)")
_MAX_RATE_MICRO = 10**12


def duration_ns(text: str, *, bare: str | None = None) -> int:
    """A length of time with its unit, such as ``100ms``, in ns; ``bare`` is the unit of a number alone."""
    text = text.strip()
    found = DURATION.fullmatch(text if bare is None or not text[-1:].isdigit() else f"{text}{bare}")
    if not found:
        raise InputError(f"{text!r}: not a length of time; write a number and ns, us, ms, s, min or h")
    whole, fraction, unit = found.groups()
    scale = UNITS_NS[unit]
    digits = fraction or ""
    value = int(whole) * scale + (int(digits) * scale // 10 ** len(digits) if digits else 0)
    if value >= 1 << 63:
        raise InputError(f"{text!r}: longer than 292 years")
    return value


def rate_micro(text: str) -> int:
    """Arrivals per second, ``40/s`` or ``40``, in millionths."""
    found = _NUMBER.fullmatch(text.strip())
    if not found or found[2] not in {"", "/s"}:
        raise InputError(f"{text!r}: not a rate; write a number, per second, such as 40/s")
    value = Decimal(found[1]) * 1_000_000
    if value != value.to_integral_value():
        raise InputError(f"{text!r}: finer than a millionth per second")
    if not 0 < value <= _MAX_RATE_MICRO:
        raise InputError(f"{text!r}: a rate lies above 0 and is at most 1000000/s")
    return int(value)


def size_bytes(text: str) -> int:
    """A size with its unit, such as ``64KiB``, or a bare number of octets."""
    found = _NUMBER.fullmatch(text.strip())
    unit = (found[2] or "B") if found else ""
    if not found or unit not in UNITS_BYTES:
        raise InputError(f"{text!r}: not a size; write a number and {', '.join(UNITS_BYTES)}")
    value = Decimal(found[1]) * UNITS_BYTES[unit]
    if value != value.to_integral_value():
        raise InputError(f"{text!r}: not a whole number of octets")
    return int(value)


def link_rate_bps(text: str) -> int:
    """A link rate with its unit, such as ``36kbit/s``, in bit/s."""
    found = _NUMBER.fullmatch(text.strip())
    if not found or found[2] not in UNITS_BPS:
        raise InputError(f"{text!r}: not a link rate; write a number and {', '.join(UNITS_BPS)}")
    value = Decimal(found[1]) * UNITS_BPS[found[2]]
    if value != value.to_integral_value() or not 0 < value <= 10**12:
        raise InputError(f"{text!r}: a link rate is a whole number of bit/s above 0, at most 1000Gbit/s")
    return int(value)
