"""Makes the traces of this folder; they are the same bytes every time.

Model: a cellular link whose rate wanders (the logarithm of it, first-order autoregressive over 100 ms) around
a mean and has two outages. Ours: made to look like published drives in a car, measured nowhere. Leaves out
any network in particular; for that, record one.
"""

import math
import random
from pathlib import Path

STEP_MS = 100
ROUND_MS = 60_000
PACKET_BITS = 1500 * 8


def schedule(seed: int, mean_bps: float, outages: list[tuple[int, int]]) -> list[int]:
    """Opportunities of one round, in milliseconds."""
    draws = random.Random(seed)
    level, credit, times = 0.0, 0.0, []
    for start in range(0, ROUND_MS, STEP_MS):
        # Correlation time 2 s, standard deviation of the logarithm 0.6: half to double the mean, mostly.
        level = level * math.exp(-0.05) + draws.gauss(0.0, 0.6 * math.sqrt(1 - math.exp(-0.1)))
        rate = mean_bps * math.exp(level - 0.18)
        if any(begin <= start < end for begin, end in outages):
            rate = 0.0
        for ms in range(start + 1, start + STEP_MS + 1):
            credit += rate / 1000 / PACKET_BITS
            times += [ms] * int(credit)
            credit -= int(credit)
    return [*times, ROUND_MS]


def main() -> None:
    """Writes both directions."""
    here = Path(__file__).parent
    outages = [(21_000, 22_500), (47_000, 47_800)]
    for name, seed, mean_bps in [("down", 1, 3e6), ("up", 2, 1e6)]:
        times = schedule(seed, mean_bps, outages)
        (here / f"synthetic-lte.{name}").write_text("".join(f"{ms}\n" for ms in times), encoding="ascii")


if __name__ == "__main__":
    main()
