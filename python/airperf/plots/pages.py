"""Loads of pages: connections over time, and the share of each layer in what is saved.

Model: spans as ``analysis.visits.SPANS`` has them, layers as ``analysis.visits.layers`` gives them. Leaves
out waterfalls of real browsers (``waterfall``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.patches import Patch

from airperf.plots import style

SPANS = {
    "handshake": ("handshake", style.ORANGE, 0.3),
    "waiting": ("waiting for a reply", style.SKY, 0.5),
    "receiving": ("receiving", style.BLUE, 0.8),
    "pushed": ("receiving unasked", style.GREEN, 0.8),
}
COLOURS = (style.QUIET, style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY)


def timeline(spans: pl.DataFrame, name: str) -> str:
    """SVG of a load: a row for each connection, time to the right."""
    with style.look():
        last = spans["row"].max()
        count = last + 1 if isinstance(last, int) else 1
        figure = style.figure(1.3 + 0.24 * count)
        axes = figure.subplots()
        seen = []
        for what, (label, colour, height) in SPANS.items():
            some = spans.filter(pl.col("what") == what)
            if some.is_empty():
                continue
            seen.append(Patch(color=colour, label=label))
            axes.barh(
                some["row"].to_list(),
                (some["end_s"] - some["start_s"]).to_list(),
                left=some["start_s"].to_list(),
                height=height,
                color=colour,
                edgecolor="white",
                linewidth=0.5,
            )
        names = spans.filter(pl.col("what") == "name")
        handles: list[Any] = seen
        if not names.is_empty():
            marks = axes.plot(
                names["start_s"], [-0.9] * names.height, "v", color=style.INK, markersize=5, label="look-up"
            )
            handles = [*seen, *marks]
        axes.set_yticks(range(count), [str(row + 1) for row in range(count)])
        axes.set_ylim(count - 0.4, -1.4)
        axes.set_xlim(left=0)
        axes.set_xlabel("time since the page was wanted (s)")
        axes.set_ylabel("connection")
        axes.grid(visible=False, axis="y")
        figure.legend(handles=handles, loc="outside upper center", ncols=5)
        return style.svg(figure, name)


def layers(pages: Sequence[Any], labels: Sequence[str], x: str, name: str) -> str:
    """SVG of a bar for each page: what is left with every layer on, and what each took away."""
    with style.look():
        figure = style.figure(1.2 + 0.62 * len(pages))
        axes = figure.subplots()
        for place, page in enumerate(pages):
            means = [interval.mean or 0.0 for interval in page.seconds]
            left = max(means[-1], 0.0)
            axes.barh(place, left, height=0.62, color=COLOURS[0])
            axes.text(left / 2, place, f"{left:.1f} s", ha="center", va="center", color="white", fontsize=8)
            # The layer that was put on first took the end of the bar.
            for index in range(len(means) - 1, 0, -1):
                saved = means[index - 1] - means[index]
                colour = COLOURS[index % len(COLOURS)]
                if saved > 0:
                    axes.barh(
                        place, saved, left=left, height=0.62, color=colour, edgecolor="white", linewidth=0.5
                    )
                    if saved > 0.05 * means[0]:
                        share = f"{100 * saved / means[0]:.0f}%"
                        ink = "white" if colour == style.BLUE else style.INK
                        where = left + saved / 2
                        axes.text(where, place, share, ha="center", va="center", fontsize=8, color=ink)
                    left += saved
            half = page.seconds[0].half_width
            if half:
                axes.errorbar([means[0]], [place], xerr=[half], color=style.INK, capsize=3, linewidth=1)
        handles = [Patch(color=COLOURS[0], label="left with all")]
        handles += [
            Patch(color=COLOURS[index % len(COLOURS)], label=f"saved by {label}")
            for index, label in enumerate(labels)
            if index
        ]
        axes.set_yticks(range(len(pages)), [page.label for page in pages])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel(x)
        axes.grid(visible=False, axis="y")
        figure.legend(handles=handles, loc="outside upper center", ncols=5)
        return style.svg(figure, name)
