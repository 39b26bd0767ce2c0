"""The waterfall of a page: one bar for each request, by what its time was spent on.

Model: rows as ``analysis.browsing.SCHEMA`` has them. Leaves out what happens in the browser between requests.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import polars as pl
from matplotlib.patches import Patch

from airperf.plots import style

MOST_ROWS = 120
LONGEST_NAME = 46
PHASES = (
    ("waiting in the browser", style.RULE),
    ("name", style.PURPLE),
    ("connection", style.ORANGE),
    ("TLS", style.YELLOW),
    ("waiting for the server", style.GREEN),
    ("receiving", style.BLUE),
)


def waterfall(requests: pl.DataFrame, marks: dict[str, float], name: str) -> str:
    """SVG of the first requests of a load, with vertical lines at ``marks`` (ms)."""
    rows = requests.head(MOST_ROWS)
    with style.look():
        figure = style.figure(1.2 + 0.17 * rows.height)
        axes = figure.subplots()
        for place, row in enumerate(rows.iter_rows(named=True)):
            for (_, colour), (start, length) in zip(PHASES, _phases(row), strict=True):
                if length > 0:
                    axes.barh(place, length / 1e3, left=start / 1e3, height=0.72, color=colour)
            if row["error"] or (row["status"] or 0) >= 400:
                axes.plot(
                    [(row["end_ms"] or row["start_ms"]) / 1e3], [place], "x", color=style.INK, markersize=5
                )
        top = axes.get_xaxis_transform()
        for place, (text, at) in enumerate(sorted(marks.items(), key=lambda mark: mark[1])):
            axes.axvline(at / 1e3, color=style.INK, linewidth=0.8, linestyle=":")
            side = "right" if place == 0 else "left"
            axes.text(at / 1e3, 1.0, f" {text} ", ha=side, va="bottom", fontsize=7, transform=top)
        axes.set_yticks(range(rows.height), [_name(row["url"]) for row in rows.iter_rows(named=True)])
        axes.tick_params(axis="y", labelsize=6)
        axes.set_ylim(rows.height - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_xlabel("time after the navigation began (s)")
        axes.grid(visible=False, axis="y")
        handles = [Patch(color=colour, label=phase) for phase, colour in PHASES]
        figure.legend(handles=handles, loc="outside upper center", ncols=6)
        return style.svg(figure, name)


def _phases(row: dict[str, float | None]) -> list[tuple[float, float]]:
    """Start and length of each of ``PHASES``, ms; lengths of 0 where there was none."""
    start = row["start_ms"] or 0.0
    end = row["end_ms"] if row["end_ms"] is not None else start
    sent = row["sent_ms"] if row["sent_ms"] is not None else end
    first = row["first_byte_ms"] if row["first_byte_ms"] is not None else end
    dns, connect, tls = (row[key] or 0.0 for key in ("dns_ms", "connect_ms", "tls_ms"))
    at = max(start, sent - dns - connect - tls)
    found = [(start, at - start)]
    for length in (dns, connect, tls):
        found.append((at, length))
        at += length
    return [*found, (sent, max(0.0, first - sent)), (first, max(0.0, end - first))]


def _name(url: str) -> str:
    parts = urlsplit(url)
    tail = parts.path.rsplit("/", 1)[-1] or "/"
    text = f"{parts.hostname or ''}  {tail}"
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
