"""Turning content into one HTML file that needs nothing else.

Model: faults.md, stored XSS: every text is escaped, and the page's content security policy allows no
network and no script, but for the one program of the page of a capture, by its hash (``report.sequence``).
Besides that only SVG made by our own plots is put in unescaped. Leaves out what a report says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from airperf.files import write_atomic

PAPER_COLOUR = "#ffffff"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a name fit for a file, its SVG, what it shows, and the command that makes it."""

    name: str
    svg: str
    caption: str
    command: str

    @property
    def markup(self) -> Markup:
        """The SVG for the page; it comes from our plots, which escape all text."""
        return Markup(self.svg)  # noqa: S704 - made by plots.style.svg from tables, never from input


def number(value: float | None, digits: int = 3) -> str:
    """A number with ``digits`` significant figures, without exponent where that reads better."""
    if value is None:
        return "—"
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e7:
        places = max(0, digits - 1 - _magnitude(value))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.{digits}g}"


def _magnitude(value: float) -> int:
    return int(f"{abs(value):e}".partition("e")[2])


def percent(value: float | None, digits: int = 1) -> str:
    """A share as percent."""
    return "—" if value is None else f"{100 * value:.{digits}f}%"


def render(template: str, path: Path, content: Mapping[str, Any], figures: list[Figure]) -> Path:
    """Writes the page to ``path`` and each figure as SVG into ``figures`` beside it."""
    environment = Environment(
        loader=PackageLoader("airperf.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent}
    page = environment.get_template(template).render(
        **content, figures={figure.name: figure for figure in figures}
    )
    for figure in figures:
        write_atomic(path.parent / f"{path.stem}-figures" / f"{figure.name}.svg", _standalone(figure.svg))
    write_atomic(path, page)
    return path


def _standalone(svg: str) -> str:
    """The figure as a file of its own, on paper rather than on whatever is behind it."""
    return '<?xml version="1.0" encoding="utf-8" standalone="no"?>\n' + svg
