"""What a link delivered, as a schedule of opportunities that would deliver it.

Model: Mahimahi's format: an opportunity of 1500 bytes in the millisecond in which that many more have been
delivered. Leaves out delay and loss: a schedule has none, so a link that was not always busy looks slower
than it was.
"""

from __future__ import annotations

import math

import polars as pl

OPPORTUNITY_BYTES = 1500
NS_PER_MS = 1_000_000


def opportunities(packets: pl.DataFrame, server: int, *, up: bool, elapsed_s: float) -> list[int]:
    """Times in milliseconds for one way of a run's table ``packets``; the last is the end of the run."""
    to_server = pl.col("to") == server
    found = packets.filter((to_server if up else ~to_server) & (pl.col("fate") == "delivered"))
    found = found.drop_nulls("done_ns").sort("done_ns").select("done_ns", "ip_bytes")
    times, credit = [], 0
    for done_ns, ip_bytes in found.iter_rows():
        credit += ip_bytes
        while credit >= OPPORTUNITY_BYTES:
            credit -= OPPORTUNITY_BYTES
            times.append(max(1, math.ceil(done_ns / NS_PER_MS)))
    end = math.ceil(elapsed_s * 1000)
    if times and times[-1] < end:
        # Mahimahi repeats a schedule from its last time: what is left of a packet makes one at the end, or
        # the last moves there.
        times.append(end)
        if 2 * credit < OPPORTUNITY_BYTES:
            del times[-2]
    return times
