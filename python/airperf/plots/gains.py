"""Remedies side by side: with and without, and the gain between them.

Model: means with 95% intervals over repetitions. Leaves out combinations of remedies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airperf.plots import style


def bars(gains: Sequence[Any], x: str, name: str) -> str:
    """SVG of two bars for each remedy; rows as ``analysis.gains.gains`` gives them."""
    with style.look():
        figure = style.figure(0.9 + 0.62 * len(gains))
        axes = figure.subplots()
        axes.set_xlabel(x)
        places = list(range(len(gains)))
        for offset, part, colour, label in (
            (-0.2, "without", style.QUIET, "without"),
            (0.2, "having", style.BLUE, "with the remedy"),
        ):
            values = [getattr(gain, part) for gain in gains]
            means = [value.mean or 0.0 for value in values]
            half = [value.half_width or 0.0 for value in values]
            axes.barh([p + offset for p in places], means, xerr=half, height=0.36, color=colour, label=label)
        for place, gain in zip(places, gains, strict=True):
            most = max(gain.having.mean or 0.0, gain.without.mean or 0.0)
            spread = "" if gain.ratio.half_width is None else f" ± {gain.ratio.half_width:.2f}"
            axes.annotate(
                f"× {gain.ratio.mean:.2f}{spread}",
                (most, place),
                xytext=(14, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_yticks(places, [gain.label for gain in gains])
        axes.invert_yaxis()
        axes.margins(x=0.16)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        figure.legend(loc="outside upper center", ncols=2)
        return style.svg(figure, name)
