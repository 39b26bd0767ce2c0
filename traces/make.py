"""Makes the traces of this folder; they are the same bytes every time.

Model: a cellular link whose rate wanders (the logarithm of it, first-order autoregressive over 100 ms) around
a mean and has two outages; a walk through a GPRS cell, whose C/I wanders (the same over 1 s) and has two
shadows. Ours: made to look like published drives and walks, measured nowhere. Leaves out any network in
particular; for that, record one.
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


def walk(seed: int, mean_db: float, shadows: list[tuple[int, int]]) -> list[float]:
    """C/I in dB for every second of one round; 12 dB less in shadows."""
    draws = random.Random(seed)
    level, series = 0.0, []
    for second in range(ROUND_MS // 1000):
        # Shadowing decorrelates over tens of metres (Gudmundson 1991): here ten seconds on foot, 4 dB.
        level = level * math.exp(-0.1) + draws.gauss(0.0, 4.0 * math.sqrt(1 - math.exp(-0.2)))
        shadow = 12.0 if any(begin <= second < end for begin, end in shadows) else 0.0
        series.append(mean_db + level - shadow)
    return series


def main() -> None:
    """Writes both directions."""
    here = Path(__file__).parent
    outages = [(21_000, 22_500), (47_000, 47_800)]
    for name, seed, mean_bps in [("down", 1, 3e6), ("up", 2, 1e6)]:
        times = schedule(seed, mean_bps, outages)
        (here / f"synthetic-lte.{name}").write_text("".join(f"{ms}\n" for ms in times), encoding="ascii")
    lines = [f"{second},{db:.1f}\n" for second, db in enumerate(walk(3, 13.0, [(15, 19), (40, 43)]))]
    (here / "synthetic-walk.ci").write_text("time_s,ci_db\n" + "".join(lines), encoding="ascii")


if __name__ == "__main__":
    main()
