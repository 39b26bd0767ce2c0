"""Emulated values beside simulated ones, in groups.

Model: means with 95% intervals over repetitions, rows as ``analysis.beside.agreement`` gives them. Leaves out
single runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airperf.plots import style

PARTS = ((-0.2, "emu", style.BLUE, "measured"), (0.2, "sim", style.QUIET, "modelled"))


def bars(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], x: str, name: str) -> str:
    """SVG of two bars for each row in each column, with the difference behind them."""
    cells = [
        (f"{column}: {row['label']}", row["cells"][place])
        for place, column in enumerate(columns)
        for row in rows
        if row["cells"][place]["emu"].n
    ]
    with style.look():
        figure = style.figure(0.9 + 0.42 * len(cells))
        axes = figure.subplots()
        axes.set_xlabel(x)
        places = list(range(len(cells)))
        for offset, part, colour, label in PARTS:
            values = [cell[part] for _, cell in cells]
            means = [value.mean or 0.0 for value in values]
            half = [value.half_width or 0.0 for value in values]
            axes.barh([p + offset for p in places], means, xerr=half, height=0.36, color=colour, label=label)
        for place, (_, cell) in enumerate(cells):
            if cell["difference"] is not None:
                most = max(cell[part].mean + (cell[part].half_width or 0.0) for part in ("emu", "sim"))
                axes.annotate(
                    f"{cell['difference']:+.0%}",
                    (most, place),
                    xytext=(6, 0),
                    textcoords="offset points",
                    va="center",
                )
        axes.set_yticks(places, [label for label, _ in cells])
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        figure.legend(loc="outside upper center", ncols=2)
        return style.svg(figure, name)
