"""Figures of captures show all that their tables hold, however little that is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airperf.plots import style
from airperf.plots.capture import distributions, traffic


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    figures: list[Figure] = []
    monkeypatch.setattr(style, "svg", lambda figure, _: figures.append(figure))
    return figures


def rates(*packets: float) -> pl.DataFrame:
    height = len(packets)
    return pl.DataFrame(
        {
            "time_s": [0.5 + n for n in range(height)],
            "length_s": [1.0] * height,
            "packets": packets,
            "mbps": packets,
            "peak_packets": packets,
            "peak_mbps": packets,
        },
        schema_overrides={"time_s": pl.Float64, "length_s": pl.Float64},
    )


def test_the_first_and_the_last_interval_of_traffic_are_drawn_whole(drawn: list[Figure]) -> None:
    traffic.over_time(rates(5.0, 3.0, 4.0))
    traffic.clients_over_time({"192.0.2.1": rates(5.0, 3.0, 4.0)})
    axes: list[Axes] = [axes for figure in drawn for axes in figure.axes]
    assert [axis.get_xlim() for axis in axes] == [(0.0, 3.0)] * 4


def test_a_capture_without_traffic_has_a_figure(drawn: list[Figure]) -> None:
    traffic.over_time(rates())
    assert len(drawn) == 1


def test_a_tail_of_one_value_is_a_dot(drawn: list[Figure]) -> None:
    table = pl.DataFrame(
        {
            "value": [0.0, 1.36],
            "share": [0.02, 1.0],
            "longer": [1.0, 0.98],
            "low": [0.0, 1.0],
            "high": [0.04, 1.0],
        }
    )
    distributions.pairs("sizes", [distributions.Panel("payload (kB)", "connections", {"all": table})])
    (tail,) = drawn[0].axes[1].lines
    assert (np.asarray(tail.get_xydata()).tolist(), tail.get_marker()) == ([[1.36, 0.98]], "o")
