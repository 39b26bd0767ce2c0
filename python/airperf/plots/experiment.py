"""One measure of an experiment against its factors, with error bars.

Model: panels of ``analysis.curves``. Levels that are names stand on the axis by name. Leaves out fits.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from airperf.analysis.curves import Curve, Panel
from airperf.plots import style


def measure(name: str, label: str, panels: Sequence[Panel], knees: Sequence[tuple[float, float]] = ()) -> str:
    """SVG of one measure; ``knees`` are intervals to mark on the axis of the first panel."""
    with style.look():
        rows = (len(panels) + 1) // 2
        figure = style.figure(3.6 * rows if len(panels) > 1 else 4.2)
        grid = figure.subplots(rows, 2 if len(panels) > 1 else 1, squeeze=False).ravel()
        for axes, panel in zip(grid, panels, strict=False):
            style.panel(axes, panel.title, panel.factor, label)
            for place, curve in enumerate(panel.curves):
                _curve(axes, curve, place)
            _names(axes, panel.curves)
            if len(panel.curves) > 1:
                axes.legend(loc="best")
            if all(value.mean is None or value.mean >= 0 for curve in panel.curves for value in curve.values):
                axes.set_ylim(bottom=0)
        for place, (low, high) in enumerate(knees):
            colour = style.CYCLE[place % len(style.CYCLE)] if len(knees) > 1 else style.ORANGE
            grid[0].axvspan(low, high, color=colour, alpha=0.18, linewidth=0, zorder=1)
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        return style.svg(figure, name)


def _curve(axes: Axes, curve: Curve, place: int) -> None:
    known = [(x, v.mean, v) for x, v in zip(curve.x, curve.values, strict=True) if v.mean is not None]
    if not known:
        return
    colour = style.CYCLE[place % len(style.CYCLE)]
    below = [0.0 if value.low is None else mean - value.low for _, mean, value in known]
    above = [0.0 if value.high is None else value.high - mean for _, mean, value in known]
    axes.errorbar(
        [x for x, _, _ in known],
        [mean for _, mean, _ in known],
        yerr=[below, above],
        color=colour,
        linestyle=style.LINES[place % len(style.LINES)] if curve.joined else "none",
        marker=style.MARKERS[place % len(style.MARKERS)],
        capsize=2.5,
        elinewidth=1.1,
        label=curve.label or None,
        zorder=3,
    )


def _names(axes: Axes, curves: Sequence[Curve]) -> None:
    """Names under the axis where levels are names; where they are numbers, their unit beside the factor."""
    names = {x: text for curve in curves for x, text in zip(curve.x, curve.texts, strict=True)}
    if any(not text.startswith(f"{x:g}") for x, text in names.items()):
        axes.set_xticks(sorted(names), [names[x] for x in sorted(names)])
        return
    units = {text.removeprefix(f"{x:g}").strip() for x, text in names.items()}
    if len(units) == 1 and (unit := units.pop()):
        axes.set_xlabel(f"{axes.get_xlabel()} ({unit})")
