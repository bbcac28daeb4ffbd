"""The results in sentences; every number in them is computed.

Settings stand in backticks, as in the docs.
"""

from __future__ import annotations

from collections.abc import Iterator

from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.evaluate.report.findings import (
    ENOUGH,
    SURE,
    default_setting,
    rivalries,
    smallest_enough,
)
from docpruner.evaluate.report.wording import NBSP, chance_said, change, percent, seconds, size

MOST_NAMED = 3


def summary(results: Results) -> list[str]:
    setting = default_setting(results)
    if setting is None:
        return [f"Only the base was measured: {results.measure_name} is {results.base.score:.3f}."]
    if setting.relative is None:
        sentences = [
            f"Nothing is found even without pruning: {results.measure_name} is "
            f"{results.base.score:.3f}, so there is nothing to compare with."
        ]
    else:
        sentences = [_outcome(results, setting), *_smallest(results), *_not_won(results)]
    sentences += [*_pages(setting), *_languages(results, setting)]
    sentences.append(
        f"Searching what `{setting.name}` stores takes {percent(setting.search_time, 0)} of the "
        f"time that the base takes."
    )
    return [*sentences, *_encoding(results)]


def _outcome(results: Results, setting: SettingResult) -> str:
    base = results.base
    sentence = (
        f"`{setting.name}` stores {percent(1 - setting.pruned)} of the patch vectors and keeps "
        f"{percent(setting.relative)} of {results.measure_name} "
        f"({base.score:.3f} → {setting.score:.3f}, {chance_said(setting.p)})."
    )
    if setting.score == base.score:
        return sentence
    if setting.p >= SURE:
        return f"{sentence} The difference may be chance."
    direction = "gain" if setting.score > base.score else "loss"
    return f"{sentence} The {direction} is unlikely to be chance."


def _smallest(results: Results) -> Iterator[str]:
    best, base = smallest_enough(results), results.base
    enough = f"{percent(ENOUGH, 0)} of the base's {results.measure_name}"
    if best is base:
        yield f"No smaller setting keeps {enough}."
        return
    factor = base.stored_bytes / best.stored_bytes
    yield (
        f"The smallest that keeps {enough} is `{best.name}`: "
        f"{size(best.stored_bytes)} per page instead of {size(base.stored_bytes)}, "
        f"{factor:.1f}{NBSP}times less, with {percent(best.relative)} kept."
    )


def _not_won(results: Results) -> Iterator[str]:
    compared = rivalries(results)
    if not compared:
        return
    lost = [rivalry for rivalry in compared if rivalry.rivals]
    if not lost:
        yield "No other method both prunes as much as a setting of docpruner and ranks better."
        return
    own = default_setting(results)
    sentence = (
        f"For {len(lost)} of docpruner's {len(compared)} settings, another method prunes at least "
        f"as much and ranks better."
    )
    beaten = next((rivalry.rivals for rivalry in lost if rivalry.setting is own), ())
    if own is None or not beaten:
        worst = max(lost, key=lambda rivalry: rivalry.rivals[0].score - rivalry.setting.score)
        yield f"{sentence} `{worst.setting.name}` is beaten by {_measured(worst.rivals[0])}."
        return
    named = ", ".join(map(_measured, beaten[:MOST_NAMED]))
    more = len(beaten) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    yield f"{sentence} `{own.name}` ({own.score:.3f}) is beaten by {named}{rest}."


def _measured(setting: SettingResult) -> str:
    return f"`{setting.name}` ({setting.score:.3f} at {percent(setting.pruned)} pruned)"


def _pages(setting: SettingResult) -> Iterator[str]:
    low, high = (setting.pruned_by_page[quantile] for quantile in ("0.1", "0.9"))
    if high - low >= 0.01:
        yield (
            f"Pages differ: one tenth of them lose less than {percent(low, 0)} of their vectors, "
            f"another tenth more than {percent(high, 0)}."
        )


def _languages(results: Results, setting: SettingResult) -> Iterator[str]:
    before = {name: value for name, value in results.base.by_language.items() if value > 0}
    kept = {
        name: setting.by_language[name] / value
        for name, value in before.items()
        if name in setting.by_language
    }
    if len(kept) > 1:
        worst, best = min(kept, key=kept.__getitem__), max(kept, key=kept.__getitem__)
        yield (
            f"Of the languages, {worst} keeps the least of its {results.measure_name}, "
            f"{percent(kept[worst])}, and {best} the most, {percent(kept[best])}."
        )


def _encoding(results: Results) -> Iterator[str]:
    latency = results.latency
    if latency is not None:
        yield (
            f"Encoding a page takes {seconds(latency.plain)}; with importance and "
            f"`{latency.spec}`, {seconds(latency.pruned)} ({change(latency.overhead)})."
        )
