"""The tables of the report, as words; where one is sorted, with the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass

from docpruner.codecs import CODEC_NAMES
from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report.findings import (
    by_method,
    default_setting,
    rivalries,
    smallest_enough,
    storage_front,
)
from docpruner.evaluate.report.wording import (
    chance,
    change,
    milliseconds,
    percent,
    signed,
    size,
)

PAGES = (1_000, 100_000, 1_000_000)
MOST_QUERIES = 6


@dataclass(frozen=True)
class Cell:
    """Words, and the number to sort them by."""

    text: str
    value: float
    small: str = ""  # beside the words


@dataclass(frozen=True)
class Row:
    method: str
    spec: str
    codec: str
    cells: list[Cell]
    role: str  # base, default or nothing
    best: bool  # on the front of storage


def rows(results: Results) -> list[Row]:
    """Every setting: the base, then by method, the least pruned first."""
    best = {id(setting) for setting in storage_front(results)}
    default = default_setting(results)
    ordered = [s for group in by_method(results.settings).values() for s in group]
    return [
        Row(
            setting.method,
            setting.spec,
            setting.codec,
            _cells(setting),
            "base" if setting is results.base else "default" if setting is default else "",
            id(setting) in best,
        )
        for setting in ordered
    ]


def _cells(setting: SettingResult) -> list[Cell]:
    low, high = setting.ci
    return [
        Cell(f"{setting.score:.3f}", setting.score, f"{low:.3f}–{high:.3f}"),
        Cell(percent(setting.relative), setting.relative or 0.0),
        Cell(chance(setting.p), setting.p),
        Cell(percent(setting.pruned), setting.pruned),
        Cell(size(setting.stored_bytes), setting.stored_bytes),
        Cell(milliseconds(setting.reduce_ms), setting.reduce_ms),
        Cell(percent(setting.search_time, 0), setting.search_time),
    ]


def tiles(results: Results) -> list[tuple[str, str, str]]:
    """The default in four numbers: each with what it is, and from what to what."""
    setting, base = default_setting(results), results.base
    if setting is None:
        return []
    vectors = f"{base.vectors_per_page:.0f} → {setting.vectors_per_page:.0f} per page"
    stored = f"{size(base.stored_bytes)} → {size(setting.stored_bytes)} per page"
    return [
        (
            percent(setting.relative),
            f"of {results.measure_name} kept",
            f"{base.score:.3f} → {setting.score:.3f}",
        ),
        (percent(1 - setting.pruned), "of patch vectors stored", vectors),
        (change(setting.stored_bytes / base.stored_bytes - 1), "bytes", stored),
        (percent(setting.search_time, 0), "of the search time", "exact search, int8"),
    ]


def lost_to(results: Results) -> list[tuple[str, str, str, str, str, str, int]]:
    """Where docpruner does not win: its setting, the best of those that beat it, how many do."""
    return [
        (
            own.name,
            percent(own.pruned),
            f"{own.score:.3f}",
            best.name,
            percent(best.pruned),
            f"{best.score:.3f} ({signed(best.score - own.score)})",
            len(rivalry.rivals),
        )
        for rivalry in rivalries(results)
        if rivalry.rivals
        for own, best in [(rivalry.setting, rivalry.rivals[0])]
    ]


def calculator(results: Results) -> dict[str, dict[str, float]]:
    """Bytes per page of every reduction, for each codec."""
    return {
        setting.spec: {codec: setting.bytes_per_page[codec] for codec in _codecs(results)}
        for setting in results.settings
    }


def examples_of_size(results: Results) -> list[tuple[str, str, list[str]]]:
    """Without scripts: base, default and the smallest that is good enough, for some sizes."""
    chosen = [results.base, default_setting(results), smallest_enough(results)]
    specs = dict.fromkeys(setting.spec for setting in chosen if setting is not None)
    stored = calculator(results)
    return [
        (spec, f"{pages:,}", [size(stored[spec][codec] * pages) for codec in _codecs(results)])
        for spec in specs
        for pages in PAGES
    ]


def _codecs(results: Results) -> list[str]:
    return [codec for codec in CODEC_NAMES if codec in results.base.bytes_per_page]


@dataclass(frozen=True)
class Changes:
    """How single queries fare against the base."""

    spec: str
    lost: int
    gained: int
    same: int
    losses: list[tuple[str, str, str, str]]  # text, before, after, difference
    gains: list[tuple[str, str, str, str]]


def query_changes(results: Results) -> Changes | None:
    """Of the default setting; none if its queries were not kept."""
    setting = default_setting(results)
    before = results.per_query.get(results.base.name)
    after = results.per_query.get(setting.name) if setting is not None else None
    if setting is None or before is None or after is None:
        return None
    moved = sorted(
        (after[query] - value, query) for query, value in before.items() if query in after
    )
    down = [(by, query) for by, query in moved if by < -1e-9]
    up = [(by, query) for by, query in reversed(moved) if by > 1e-9]

    def row(by: float, query: str) -> tuple[str, str, str, str]:
        text = results.texts.get(query, query)
        return text, f"{before[query]:.3f}", f"{after[query]:.3f}", signed(by)

    return Changes(
        setting.name,
        len(down),
        len(up),
        len(moved) - len(down) - len(up),
        [row(*change) for change in down[:MOST_QUERIES]],
        [row(*change) for change in up[:MOST_QUERIES]],
    )
