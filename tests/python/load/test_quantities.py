"""Times, rates and sizes in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airperf.errors import InputError
from airperf.quantities import duration_ns, rate_micro, size_bytes


@pytest.mark.parametrize(("text", "ns"), [("5", 5 * 10**9), ("2.5", 2_500_000_000), ("20us", 20_000)])
def test_bare_numbers_have_the_unit_that_the_option_says(text: str, ns: int) -> None:
    assert duration_ns(text, bare="s") == ns


@pytest.mark.parametrize(
    ("text", "micro"), [("40/s", 40_000_000), ("40", 40_000_000), ("0.5 /s", 500_000), (".25", 250_000)]
)
def test_rates_are_exact_millionths(text: str, micro: int) -> None:
    assert rate_micro(text) == micro


@pytest.mark.parametrize(("text", "octets"), [("1024", 1024), ("64KiB", 65536), ("1.5kB", 1500)])
def test_sizes(text: str, octets: int) -> None:
    assert size_bytes(text) == octets


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (duration_ns, "5"),
        (duration_ns, ""),
        (rate_micro, "0"),
        (rate_micro, "0.0000001"),
        (rate_micro, "1000001/s"),
        (rate_micro, "10/min"),
        (rate_micro, "nan"),
        (rate_micro, "-3"),
        (size_bytes, "1KB"),
        (size_bytes, "0.5B"),
        (size_bytes, "1e9"),
    ],
)
def test_what_has_two_readings_or_none_is_refused(read: Callable[[str], int], text: str) -> None:
    with pytest.raises(InputError):
        read(text)
