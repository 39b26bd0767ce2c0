"""Do the 95% intervals cover? Means that theory gives, 1,000 times over.

M/M/1 and M/D/1 waiting times (Pollaczek-Khinchine) and an AR(1) process, ten independent repetitions of each
as a study makes them. The share of intervals that hold the true mean must lie in 93..97%.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from airperf.analysis.intervals import t_interval

Floats = npt.NDArray[np.float64]

EXPERIMENTS, REPETITIONS = 1_000, 10
WARM_UP, MEASURED = 500, 4_000
LOAD = 0.5


def mean_wait(services: Callable[[np.random.Generator, int], Floats]) -> Floats:
    """Mean waiting time of each run, in service times, by Lindley's recursion."""
    random = np.random.default_rng(20061)
    runs = EXPERIMENTS * REPETITIONS
    wait, total = np.zeros(runs), np.zeros(runs)
    for step in range(WARM_UP + MEASURED):
        wait = np.maximum(wait + services(random, runs) - random.exponential(1 / LOAD, runs), 0.0)
        if step >= WARM_UP:
            total += wait
    return total / MEASURED


def ar1_means() -> Floats:
    random = np.random.default_rng(20062)
    runs = EXPERIMENTS * REPETITIONS
    value, total = np.zeros(runs), np.zeros(runs)
    for step in range(WARM_UP + MEASURED):
        value = 0.8 * value + random.normal(size=runs)
        if step >= WARM_UP:
            total += value
    return total / MEASURED + 3.0


def exponential(random: np.random.Generator, runs: int) -> Floats:
    return random.exponential(1.0, runs)


def constant(_: np.random.Generator, runs: int) -> Floats:
    return np.ones(runs)


@pytest.mark.parametrize(
    ("name", "means", "truth"),
    [
        ("M/M/1", lambda: mean_wait(exponential), LOAD / (1 - LOAD)),
        ("M/D/1", lambda: mean_wait(constant), LOAD / (2 * (1 - LOAD))),
        ("AR(1)", ar1_means, 3.0),
    ],
)
def test_intervals_cover_as_often_as_they_say(name: str, means: Callable[[], Floats], truth: float) -> None:
    intervals = [t_interval(runs) for runs in means().reshape(EXPERIMENTS, REPETITIONS)]
    covered = sum(i.low is not None and i.high is not None and i.low <= truth <= i.high for i in intervals)
    assert 0.93 <= covered / EXPERIMENTS <= 0.97, f"{name}: {covered} of {EXPERIMENTS}"
