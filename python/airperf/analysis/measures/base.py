"""What a measure is: a number taken from one run, or from all levels of one repetition.

Leaves out the measures themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airperf.analysis.tables import Tables

Parameters = Mapping[str, Any]
RunMeasure = Callable[[Tables, Parameters], float | None]


@dataclass(frozen=True, slots=True)
class Rung:
    """One level of a sweep in one repetition."""

    level: float
    tables: Tables


SweepMeasure = Callable[[Sequence[Rung], Parameters], float | None]


def mean(values: Any) -> float | None:
    """Mean of numbers; None for none."""
    data = np.asarray(values, dtype=np.float64)
    return float(data.mean()) if data.size else None
