"""How methods look in every figure, and the axes that figures are drawn on.

As in the paper: adaptive methods have solid lines, others dashed ones; pruning has circles, merging
squares. Colours are safe for the colour-blind; dashes and fillings tell methods apart in print.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from docpruner.evaluate.measuring.results import SettingResult
from docpruner.evaluate.report.findings import HERO, is_adaptive
from docpruner.pictures.colours import MUTED, PRUNED, RULE, STRONG, Colour

STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": 11.5,
    "axes.labelsize": 11.5,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "docpruner",
    "savefig.facecolor": "white",
}

WIDTH = 5.7  # inches

_DASHED, _DOTTED, _MIXED, _SHORT = (5, 2), (1.2, 1.4), (7, 2, 1.2, 2), (3, 1.2)

# colour, dashes where it is not adaptive, whether its points are filled
_OWN: dict[str, tuple[str, Sequence[float], bool]] = {
    "docpruner": ("#d55e00", _DASHED, True),
    "docpruner:signal=centrality": ("#117733", _DASHED, False),
    "attention-similarity": ("#56b4e9", _DASHED, False),
    "pivot-threshold": ("#332288", _DASHED, True),
    "random": ("#7d828a", _DASHED, False),
    "attention-ratio": ("#e69f00", _DOTTED, True),
    "attention-ratio:signal=centrality": ("#44aa99", _DOTTED, False),
    "attention-threshold": ("#009e73", _MIXED, False),
    "attention-threshold-nfp": ("#7a6a00", _SHORT, True),
    "sem-cluster": ("#0072b2", _SHORT, True),
    "pool-1d": ("#cc79a7", _DASHED, False),
    "pool-2d": ("#882255", _DOTTED, True),
    "mean-similarity": ("#aa4499", _SHORT, False),
    "facility-location": ("#999933", _MIXED, True),
}
_SPARE = ("#202328", "#117733", "#aa4499", "#999933", "#44aa99")  # for pipelines

Dash = tuple[float, Sequence[float]] | Literal["-"]


def ink(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


TEXT, FAINT, LINE, BAND = ink(STRONG), ink(MUTED), ink(RULE), ink(PRUNED)


@dataclass(frozen=True)
class LineStyle:
    colour: str
    dash: Dash
    marker: str
    filled: bool
    width: float
    size: float  # of its points
    order: float  # which lies on top


def line_styles(methods: Mapping[str, Sequence[SettingResult]]) -> dict[str, LineStyle]:
    """Of each method, in their order."""
    spare = cycle(_SPARE)
    styles: dict[str, LineStyle] = {}
    for method, (setting, *_) in methods.items():
        colour, dashes, filled = _OWN.get(method) or (next(spare), _MIXED, False)
        hero = method == HERO
        styles[method] = LineStyle(
            colour=colour,
            dash="-" if is_adaptive(setting) else (0, dashes),
            marker="s" if setting.kind == "merging" else "o",
            filled=filled,
            width=2.6 if hero else 1.5,
            size=7 if hero else 5.5,
            order=4 if hero else 3,
        )
    return styles


def chart(height: float) -> tuple[Figure, Axes]:
    """Narrow enough to be read on a phone."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(which="both", labelcolor=TEXT, length=3, color=FAINT)
    axes.grid(axis="y", color=LINE, linewidth=0.6, alpha=0.7)
    axes.set_axisbelow(True)
    return figure, axes


def percent_axis(axes: Axes) -> None:
    """From nothing to everything pruned."""
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0, symbol=" %"))
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])


def draw_base(axes: Axes, base: SettingResult) -> None:
    """A line with its 95 % interval, named beside the axes where no data can be."""
    axes.axhspan(*base.ci, color=BAND, alpha=0.55, linewidth=0, zorder=0)
    axes.axhline(base.score, color=TEXT, linewidth=1.1, zorder=1)
    beside(axes, base.score, f"base\n{base.score:.3f}")


def beside(axes: Axes, height: float, text: str, align: str = "center") -> None:
    """Words at the right edge, at a height of the data."""
    axes.annotate(
        text,
        (1, height),
        (5, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        verticalalignment=align,
        color=TEXT,
        fontsize=10.5,
        annotation_clip=False,
    )


def draw_curve(axes: Axes, points: Sequence[SettingResult], style: LineStyle) -> None:
    axes.plot(
        [s.pruned for s in points],
        [s.score for s in points],
        color=style.colour,
        linestyle=style.dash,
        linewidth=style.width,
        zorder=style.order,
        clip_on=False,
    )


def draw_points(
    axes: Axes, points: Sequence[SettingResult], style: LineStyle, *, filled: bool | None = None
) -> None:
    if not points:
        return
    solid = style.filled if filled is None else filled
    axes.plot(
        [s.pruned for s in points],
        [s.score for s in points],
        linestyle="none",
        marker=style.marker,
        markersize=style.size,
        markerfacecolor=style.colour if solid else "white",
        markeredgecolor=style.colour,
        markeredgewidth=1.4,
        zorder=style.order + 0.1,
        clip_on=False,
    )


def ring(axes: Axes, setting: SettingResult) -> None:
    """Around the point that the report is about."""
    axes.plot(setting.pruned, setting.score, "o", ms=14, mfc="none", mec=TEXT, mew=1.4, zorder=5)


def key_of(style: LineStyle, name: str, *, marker: bool = True) -> Line2D:
    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=style.dash,
        linewidth=style.width,
        marker=style.marker if marker else "",
        markersize=6,
        markerfacecolor=style.colour if style.filled else "white",
        markeredgecolor=style.colour,
        markeredgewidth=1.3,
        label=name,
    )


def key_of_points(name: str, *, filled: bool) -> Line2D:
    face = FAINT if filled else "white"
    return Line2D(
        [], [], color="none", marker="o", ms=6.5, mfc=face, mec=FAINT, mew=1.4, label=name
    )


def key_of_ring(name: str) -> Line2D:
    return Line2D(
        [], [], color="none", marker="o", ms=11, mfc="none", mec=TEXT, mew=1.3, label=name
    )


def legend_below(figure: Figure, columns: dict[str, list[Line2D]]) -> None:
    """Columns with headings, below the axes."""
    columns = {title: keys for title, keys in columns.items() if keys}
    rows = max(map(len, columns.values()))
    handles: list[Artist] = []
    for title, keys in columns.items():
        empty = [Line2D([], [], color="none", label=" ") for _ in range(rows - len(keys))]
        handles += [Line2D([], [], color="none", label=title), *keys, *empty]
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(columns),
        frameon=False,
        handlelength=2.2,
        handletextpad=0.5,
        columnspacing=0.9,
        labelcolor=TEXT,
    )
    for text in legend.get_texts():
        if text.get_text() in columns:
            text.set_color(FAINT)
