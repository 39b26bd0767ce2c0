"""What a paper's text states, drawn in grey behind our values.

Model: an item has ``at`` (levels of the factor) and ``value``: one line, a ``level``, or a region ``above``.
Leaves out points read off printed figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from airperf.plots import style

PUBLISHED: dict[str, Any] = {"color": "#9aa5b1", "zorder": 1, "solid_capstyle": "butt"}
LABEL = "published (text of the paper)"


def draw_published(axes: Axes, items: Sequence[Mapping[str, Any]]) -> None:
    """Draws every item with its own words beside it."""
    label: str | None = LABEL
    for item in items:
        at, value = [float(level) for level in item["at"]], item["value"]
        values = [float(v) for v in value] if isinstance(value, list) else [float(value)] * len(at)
        kind = str(item["kind"])
        if kind == "points":
            axes.plot(
                at,
                values,
                linestyle="none",
                marker="_",
                markersize=22,
                markeredgewidth=4,
                alpha=0.8,
                label=label,
                **PUBLISHED,
            )
        else:
            width = 1.2 if kind == "above" else 6
            axes.plot(
                at, values, linewidth=width, alpha=0.8 if kind == "above" else 0.55, label=label, **PUBLISHED
            )
        if kind == "above":
            top = max(values[0] * 3, axes.get_ylim()[1])
            axes.fill_between(at, values[0], top, color=PUBLISHED["color"], alpha=0.22, linewidth=0, zorder=1)
        _words(axes, kind, str(item["text"]), at, values)
        label = None


def _words(axes: Axes, kind: str, text: str, at: Sequence[float], values: Sequence[float]) -> None:
    level = kind == "level"
    place = ((at[0] + at[-1]) / 2, values[0]) if level else (at[-1], values[-1])
    axes.annotate(
        text,
        place,
        xytext=(0, 6) if level else (0, -4) if kind == "above" else (-10, 4),
        textcoords="offset points",
        ha="center" if level else "right",
        va="top" if kind == "above" else "bottom",
        fontsize=8.5,
        color=style.QUIET,
    )
