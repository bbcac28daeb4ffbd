"""The figure of what bytes buy: every setting with its codec, and the front."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report.findings import ENOUGH, smallest_enough, storage_front
from docpruner.evaluate.report.line_styles import FAINT, TEXT, beside, chart, legend_below
from docpruner.evaluate.report.wording import percent, size

MARKS = {
    "float32": ("D", "#882255"),
    "float16": ("o", "#d55e00"),
    "int8": ("s", "#0072b2"),
    "int4": ("p", "#56b4e9"),
    "int2": ("v", "#cc79a7"),
    "int1": ("P", "#e69f00"),
    "binary": ("^", "#009e73"),
}
MOST_NAMED = 10  # settings of the front
LONGEST = 56  # characters of a name


def storage(results: Results) -> Figure | None:
    if len(results.settings) < 2:
        return None
    figure, axes = chart(6.0)
    codecs = [name for name in MARKS if any(s.codec == name for s in results.settings)]
    best = storage_front(results)
    for codec in codecs:
        _points(axes, [s for s in results.settings if s.codec == codec], best)
    axes.plot(
        [s.stored_bytes for s in best],
        [s.score for s in best],
        color=TEXT,
        linewidth=1.2,
        drawstyle="steps-post",
        zorder=2,
    )
    _levels(axes, results.base)
    _bytes_axis(axes)
    axes.set_ylabel(results.measure_name, color=FAINT)
    named = _spread(best, smallest_enough(results))
    _number(axes, named)
    _legends(figure, codecs, named, results.measure_name)
    return figure


def _points(axes: Axes, settings: Sequence[SettingResult], best: Sequence[SettingResult]) -> None:
    marker, colour = MARKS[settings[0].codec]
    for on_front in (False, True):
        chosen = [s for s in settings if (s in best) == on_front]
        axes.plot(
            [s.stored_bytes for s in chosen],
            [s.score for s in chosen],
            linestyle="none",
            marker=marker,
            markersize=7.5 if on_front else 5,
            markerfacecolor=colour,
            markeredgecolor=TEXT if on_front else "white",
            markeredgewidth=1.2 if on_front else 0.5,
            alpha=1 if on_front else 0.55,
            zorder=4 if on_front else 3,
        )


def _levels(axes: Axes, base: SettingResult) -> None:
    axes.axhline(base.score, color=FAINT, linewidth=0.9, zorder=1)
    axes.axhline(ENOUGH * base.score, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
    beside(axes, base.score, "base", "bottom")
    beside(axes, ENOUGH * base.score, f"{ENOUGH:.0%}".replace("%", " %"), "top")


WIDE = 50


def _bytes_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    wide = low > 0 and high / low > WIDE  # where more ticks would run into each other
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 3) if wide else (1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g} kB"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("stored per page (logarithmic)", color=FAINT)


def _spread(best: Sequence[SettingResult], enough: SettingResult) -> list[SettingResult]:
    """As many of the front as there is room for: its ends, what is `enough`, others between."""
    count = min(MOST_NAMED, len(best))
    places = np.linspace(0, len(best) - 1, count).round().astype(int).tolist()
    if enough in best and count > 2:
        own = best.index(enough)
        if own not in places:
            places[min(range(1, count - 1), key=lambda at: abs(places[at] - own))] = own
    return [best[place] for place in places]


def _number(axes: Axes, named: Sequence[SettingResult]) -> None:
    """Above and left of a point of the front there is never another point."""
    for number, setting in enumerate(named, 1):
        axes.annotate(
            str(number),
            (setting.stored_bytes, setting.score),
            (-5, 4),
            textcoords="offset points",
            horizontalalignment="right",
            color=TEXT,
            fontsize=10.5,
        )


def _legends(
    figure: Figure, codecs: Sequence[str], named: Sequence[SettingResult], measure: str
) -> None:
    marks = [
        Line2D([], [], color="none", marker=mark, ms=6.5, mfc=colour, mec="none", label=codec)
        for codec in codecs
        for mark, colour in [MARKS[codec]]
    ]
    figure.legend(
        handles=marks,
        loc="outside upper center",
        ncols=len(marks),
        frameon=False,
        handletextpad=0.1,
        labelcolor=TEXT,
    )
    points = [
        Line2D([], [], color="none", label=f"{number}  {_described(setting)}")
        for number, setting in enumerate(named, 1)
    ]
    legend_below(figure, {f"numbered: bytes per page, share of the base's {measure}": points})


def _described(setting: SettingResult) -> str:
    name = setting.name if len(setting.name) <= LONGEST else f"{setting.name[: LONGEST - 1]}…"
    return f"{name}: {size(setting.stored_bytes)}, {percent(setting.relative)}"
