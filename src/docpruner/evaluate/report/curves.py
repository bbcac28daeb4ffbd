"""Figures of what quality costs: the main measure against the share of vectors pruned."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report.findings import (
    HERO,
    SURE,
    by_method,
    default_setting,
    front,
    parameters,
    plain,
)
from docpruner.evaluate.report.line_styles import (
    FAINT,
    LineStyle,
    chart,
    draw_base,
    draw_curve,
    draw_points,
    key_of,
    key_of_points,
    key_of_ring,
    legend_below,
    line_styles,
    percent_axis,
    ring,
)

VARIANTS = (
    *(HERO, f"{HERO}:signal=centrality", "attention-ratio", "attention-ratio:signal=centrality"),
    *("attention-threshold", "attention-threshold-nfp", "random"),
)
KINDS = ("adaptive pruning", "pruning", "merging")


def tradeoff(results: Results) -> Figure | None:
    """Every method; of one with several parameters the line is the upper front of its points."""
    methods = by_method(plain(results))
    if not methods:
        return None
    figure, axes = chart(5.8)
    draw_base(axes, results.base)
    styles = line_styles(methods)
    keys: dict[str, list[Line2D]] = {kind: [] for kind in KINDS}
    for method, settings in methods.items():
        style, line = styles[method], _line(settings)
        draw_curve(axes, line, style)
        draw_points(axes, line, style)
        _dots(axes, [s for s in settings if s not in line], style)
        keys.setdefault(settings[0].kind, []).append(key_of(style, method))
    default = default_setting(results)
    if default is not None:
        ring(axes, default)
        keys[default.kind].append(key_of_ring(default.name))
    _name_axes(axes, results)
    legend_below(figure, keys)
    return figure


def variants(results: Results) -> Figure | None:
    """Ways to use the attention, and chance; hollow where the loss may be chance too."""
    there = by_method(s for s in plain(results) if s.method in VARIANTS)
    methods = {method: there[method] for method in VARIANTS if method in there}
    if HERO not in methods or len(methods) < 2:
        return None
    figure, axes = chart(4.9)
    draw_base(axes, results.base)
    styles = line_styles(methods)
    for method, settings in methods.items():
        style, line = styles[method], _line(settings)
        draw_curve(axes, line, style)
        draw_points(axes, [s for s in line if s.p < SURE], style, filled=True)
        draw_points(axes, [s for s in line if s.p >= SURE], style, filled=False)
    _name_axes(axes, results)
    marks = [
        key_of_points(f"unlikely to be chance (p < {SURE:g})", filled=True),
        key_of_points("may be chance", filled=False),
    ]
    named = {method: key_of(style, method, marker=False) for method, style in styles.items()}
    legend_below(figure, {"method": list(named.values()), "difference from the base": marks})
    return figure


def _line(settings: Sequence[SettingResult]) -> list[SettingResult]:
    """The points that a line joins, the least pruned first.

    With one parameter varied: all. With several: those that no other of the method beats at the
    same share pruned or more, because a line through a cloud says nothing.
    """
    if _varied(settings) < 2:
        return list(settings)
    return front(settings, lambda setting: -setting.pruned)[::-1]


def _varied(settings: Sequence[SettingResult]) -> int:
    """How many parameters have more than one value."""
    values: dict[str, set[str]] = {}
    for setting in settings:
        for stage, part in enumerate(parameters(setting.spec).split("+")):
            for written in filter(None, part.split(",")):
                name, _, value = written.partition("=")
                values.setdefault(f"{stage}.{name}", set()).add(value)
    return sum(len(tried) > 1 for tried in values.values())


def _dots(axes: Axes, settings: Sequence[SettingResult], style: LineStyle) -> None:
    """Settings that the line leaves out."""
    axes.plot(
        [s.pruned for s in settings],
        [s.score for s in settings],
        linestyle="none",
        marker=style.marker,
        markersize=3,
        color=style.colour,
        alpha=0.45,
        markeredgewidth=0,
        zorder=2,
    )


def _name_axes(axes: Axes, results: Results) -> None:
    percent_axis(axes)
    axes.set_xlabel("patch vectors pruned", color=FAINT)
    axes.set_ylabel(results.measure_name, color=FAINT)
