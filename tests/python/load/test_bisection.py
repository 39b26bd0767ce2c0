"""The search for the knee, of servers whose capacity is known."""

from __future__ import annotations

from airperf.analysis.bisection import Knee, among, near


class Server:
    """Carries up to its capacity and counts how often it was asked."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.asked = capacity, list[int]()

    def __call__(self, rate: int) -> bool:
        """Whether it carries a rate."""
        self.asked.append(rate)
        return rate <= self.capacity


def test_among_rates_the_knee_lies_between_neighbours() -> None:
    rates = list(range(10, 170, 10))
    for capacity, knee in [
        (95, Knee(90, 100)),
        (5, Knee(None, 10)),
        (500, Knee(160, None)),
        (10, Knee(10, 20)),
    ]:
        server = Server(capacity)
        assert among(rates, server) == knee
        assert len(server.asked) <= 5


def test_the_knee_is_found_from_above_and_below() -> None:
    for start in (1_000, 1_000_000, 900_000_000):
        server = Server(12_345_678)
        knee = near(start, 0.05, server, 10**12)
        assert knee.low is not None
        assert knee.high is not None
        assert knee.low <= server.capacity < knee.high <= knee.low * 1.05
        assert len(server.asked) < 30


def test_a_knee_that_is_nowhere_is_not_made_up() -> None:
    assert near(8, 0.05, Server(0), 100) == Knee(None, 1)
    assert near(8, 0.05, Server(1000), 100) == Knee(100, None)
