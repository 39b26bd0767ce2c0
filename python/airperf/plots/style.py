"""One look for every figure: readable in colour, in grey and by eyes that confuse red and green.

Model: colours of Okabe and Ito (2008), and a line style and marker of its own for each series. SVG without
scripts, fonts or links, with ids made unique so that many figures fit one page; same table, same bytes.
Leaves out layouts of particular figures.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
INK, QUIET, RULE = "#1f2933", "#5f6b7a", "#d5dbe3"

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 2)), (0, (1, 1)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: selectable, small, drawn with the page's font
    "svg.hashsalt": "airperf",
    "text.parse_math": False,  # names come from files of others
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.5,
    "figure.dpi": 100,
    "savefig.dpi": 160,
}


@contextmanager
def look() -> Iterator[None]:
    """The house look while entered; the user's own settings are neither read nor changed."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def svg(figure: Figure, name: str) -> str:
    """The figure as an ``<svg>`` element whose ids begin with ``name``."""
    engine = figure.get_layout_engine()
    if engine is not None:  # laid out once: savefig would do it twice
        engine.execute(figure)
        figure.set_layout_engine("none")
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": name})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href|href)="#', rf'\1="#{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)


def figure(height_in: float) -> Figure:
    """An empty figure as wide as the page, with room between its panels."""
    return Figure(figsize=(10.4, height_in), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))


def log_scale(axes: Axes, *directions: str) -> None:
    """Logarithmic axes (``x``, ``y``), which say so, where values span more than a factor of five.

    There must be data on the axes already.
    """
    for direction in directions:
        axis: Axis = getattr(axes, f"{direction}axis")
        low, high = axis.get_data_interval()
        if high < 5 * low:
            continue
        axes.set(**{f"{direction}scale": "log"})
        axis.set_major_locator(LogLocator(10, subs=(1,) if high > 50 * low else (1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
        axis.set_label_text(f"{axis.get_label_text()}, log scale")


def panel(axes: Axes, title: str, x: str, y: str) -> None:
    """Title and axis labels with units."""
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
