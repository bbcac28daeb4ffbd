"""Figures of what differs from page to page, and from language to language."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report.findings import HERO, by_method, default_setting, parameters, plain
from docpruner.evaluate.report.line_styles import (
    FAINT,
    LINE,
    TEXT,
    beside,
    chart,
    line_styles,
    percent_axis,
)
from docpruner.evaluate.report.wording import percent, signed

ROW = 0.62  # inches
TELLING = 0.1  # a correlation below this says nothing


def distribution(results: Results) -> Figure | None:
    """How many pages lose how much, for each setting of docpruner."""
    settings = by_method(plain(results)).get(HERO, [])
    if not settings:
        return None
    figure, axes = chart(1.0 + ROW * len(settings))
    most = max(max(s.pruned_histogram) / sum(s.pruned_histogram) for s in settings)
    colour = line_styles({HERO: settings})[HERO].colour
    for row, setting in enumerate(reversed(settings)):
        pages = setting.pruned_histogram
        shares = [count / sum(pages) for count in pages]
        edges = [step / len(pages) for step in range(len(pages) + 1)]
        heights = [row + 0.88 * share / most for share in shares]
        axes.stairs(heights, edges, baseline=row, fill=True, color=colour, alpha=0.35, zorder=2)
        axes.stairs(heights, edges, baseline=row, color=colour, linewidth=1.2, zorder=3)
        middle = setting.pruned_by_page["0.5"]
        top = heights[min(int(middle * len(pages)), len(pages) - 1)]
        axes.plot([middle, middle], [row, top], color=TEXT, linewidth=1.6, zorder=4)
        beside(axes, row + 0.3, percent(setting.pruned))
    beside(axes, len(settings), "pruned\nof all", "bottom")
    middles = [row + 0.3 for row in range(len(settings))]
    axes.set_yticks(middles, [parameters(s.spec) for s in reversed(settings)])
    axes.grid(visible=False, axis="y")
    axes.set_ylim(0, len(settings))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=LINE, linewidth=0.6)
    percent_axis(axes)
    axes.set_xlabel("share of a page's patch vectors pruned", color=FAINT)
    return figure


def languages(results: Results) -> Figure | None:
    """Base and default for each language, the best first."""
    setting, base = default_setting(results), results.base
    both = [name for name in base.by_language if setting and name in setting.by_language]
    if setting is None or len(both) < 2:
        return None
    figure, axes = chart(1.5 + 0.42 * len(both))
    both.sort(key=lambda name: base.by_language[name])
    colour = line_styles({setting.method: [setting]})[setting.method].colour
    for row, name in enumerate(both):
        before, after = base.by_language[name], setting.by_language[name]
        axes.plot([before, after], [row, row], color=LINE, linewidth=3, zorder=1)
        beside(axes, row, signed(after - before))
    rows = range(len(both))
    before_all = [base.by_language[name] for name in both]
    after_all = [setting.by_language[name] for name in both]
    axes.plot(before_all, rows, "o", ms=8, mfc="white", mec=TEXT, mew=1.5, label="base", zorder=3)
    axes.plot(after_all, rows, "o", ms=8, color=colour, label=setting.name, zorder=2)
    counts = [results.languages.get(name, 0) for name in both]
    names = [f"{name}, {count} queries" for name, count in zip(both, counts, strict=True)]
    axes.set_yticks(rows, names, parse_math=False)
    axes.set_ylim(-0.6, len(both) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=LINE, linewidth=0.6)
    axes.set_xlabel(results.measure_name, color=FAINT)
    axes.margins(x=0.08)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, labelcolor=TEXT)
    return figure


def entropy(results: Results) -> Figure | None:
    """Whether pages that say more keep more: a point for each setting, a row for each method."""
    methods = {
        method: some
        for method, settings in by_method(plain(results)).items()
        if (some := [s for s in settings if _known(s)])
    }
    values = [r for some in methods.values() for s in some for r in _known(s)]
    if len(values) < 2 or max(map(abs, values)) < TELLING:
        return None
    figure, axes = chart(1.1 + 0.38 * len(methods))
    styles = line_styles(methods)
    for row, (method, settings) in enumerate(reversed(methods.items())):
        style = styles[method]
        axes.plot(
            [r for s in settings for r in _known(s)],
            [row] * len(settings),
            linestyle="none",
            marker=style.marker,
            markersize=7,
            color=style.colour,
            alpha=0.75,
            markeredgecolor="white",
            markeredgewidth=0.6,
            zorder=3,
        )
    axes.set_yticks(range(len(methods)), list(reversed(methods)))
    axes.set_ylim(-0.6, len(methods) - 0.4)
    axes.set_xlim(-1.02, 1.02)
    axes.axvline(0, color=FAINT, linewidth=0.9, zorder=1)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("rank correlation of entropy with share kept", color=FAINT)
    return figure


def _known(setting: SettingResult) -> list[float]:
    """Its correlation, if it has one."""
    value = setting.entropy_correlation
    return [value] if value is not None and math.isfinite(value) else []
