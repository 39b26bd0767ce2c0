"""The report of page loads: times, waterfall, filmstrip.

Leaves out comparing pages.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airperf.analysis.browsing import Loads, Page
from airperf.plots.waterfall import waterfall
from airperf.report.page import Figure, render

MOST_FRAMES = 8


def browse_report(
    path: Path,
    url: str,
    command: str,
    pages: Sequence[Page],
    loads: Loads,
    pictures: Mapping[str, bytes],
    frames: Sequence[tuple[float, bytes]],
    about: Mapping[str, Any],
) -> Path:
    """Writes the page: the load nearest to the median is the one that is drawn.

    ``pictures`` are PNGs by caption; ``frames`` JPEGs with their ms after the navigation began, of that load.
    """
    middle = median(pages)
    marks = {"load": middle.load_ms, "first paint": middle.paint_ms}
    figure = Figure(
        "waterfall",
        waterfall(middle.requests, {name: at for name, at in marks.items() if at is not None}, "waterfall"),
        "Every request of the load nearest to the median; a cross: it failed or was answered with an error.",
        command,
    )
    few = list(frames)[:: max(1, -(-len(frames) // MOST_FRAMES))]
    content = {
        "url": url,
        "about": about,
        "loads": loads,
        "pages": pages,
        "command": command,
        "pictures": {caption: _data(png, "png") for caption, png in pictures.items()},
        "frames": [(at, _data(jpeg, "jpeg")) for at, jpeg in few],
    }
    return render("browse.html.j2", path, content, [figure])


def median(pages: Sequence[Page]) -> Page:
    """The load nearest to the median; any where none was complete."""
    done = sorted((page for page in pages if page.load_ms is not None), key=lambda page: page.load_ms or 0.0)
    return done[(len(done) - 1) // 2] if done else pages[0]


def _data(picture: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
