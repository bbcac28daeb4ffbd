"""The settings worth naming: the default, the front, the smallest that is good enough, rivals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from docpruner.evaluate.measuring.methods import DEFAULT
from docpruner.evaluate.measuring.results import Results, SettingResult
from docpruner.reduce import STRATEGIES

ENOUGH = 0.99  # of the base's score
SURE = 0.05  # p below which a difference is taken for one
HERO = "docpruner"

_JOINT = re.compile(r"\+(?=[a-z])")  # between two strategies; not the plus of 1e+1


def parameters(spec: str) -> str:
    """A spec without the names of its strategies: `k=-0.25+factor=2`."""
    return "+".join(filter(None, (part.partition(":")[2] for part in _JOINT.split(spec))))


def is_adaptive(setting: SettingResult) -> bool:
    """Whether how much is pruned depends on the page, in any of its stages."""
    stages = (STRATEGIES.get(name.partition(":")[0]) for name in setting.method.split("+"))
    return any(stage is not None and stage.kind == "adaptive pruning" for stage in stages)


def plain(results: Results) -> list[SettingResult]:
    """All but the base, stored as the base is: what differs is the reduction alone."""
    return [s for s in results.settings[1:] if s.codec == results.base.codec]


def by_method(settings: Iterable[SettingResult]) -> dict[str, list[SettingResult]]:
    """The settings of each method, the least pruned first."""
    groups: dict[str, list[SettingResult]] = {}
    for setting in settings:
        groups.setdefault(setting.method, []).append(setting)
    return {method: sorted(group, key=lambda s: s.pruned) for method, group in groups.items()}


def default_setting(results: Results) -> SettingResult | None:
    """The paper's default; without it the first setting of docpruner, or the first there is."""
    others = plain(results) or results.settings[1:]
    ranked = sorted(others, key=lambda s: (s.spec != DEFAULT.spec, s.method != HERO))
    return ranked[0] if ranked else None


def front(
    settings: Iterable[SettingResult], cost: Callable[[SettingResult], float]
) -> list[SettingResult]:
    """Those that no other beats in score at the same cost or less, the cheapest first."""
    best: list[SettingResult] = []
    for setting in sorted(settings, key=lambda s: (cost(s), -s.score)):
        if not best or setting.score > best[-1].score:
            best.append(setting)
    return best


def storage_front(results: Results) -> list[SettingResult]:
    return front(results.settings, lambda setting: setting.stored_bytes)


def smallest_enough(results: Results) -> SettingResult:
    """The smallest that keeps 99 % of the base's score; the base, if none does."""
    good = [s for s in results.settings if s.relative is not None and s.relative >= ENOUGH]
    return min(good or [results.base], key=lambda s: (s.stored_bytes, -s.score))


@dataclass(frozen=True)
class Rivalry:
    """A setting of docpruner, and other methods' that prune as much or more and rank better."""

    setting: SettingResult
    rivals: Sequence[SettingResult]  # the best first


def rivalries(results: Results) -> list[Rivalry]:
    settings = plain(results)
    return [
        Rivalry(own, _rivals(own, settings))
        for own in sorted(settings, key=lambda s: s.pruned)
        if own.method == HERO
    ]


def _rivals(own: SettingResult, settings: Iterable[SettingResult]) -> list[SettingResult]:
    rivals = [
        s for s in settings if s.method != HERO and s.pruned >= own.pruned and s.score > own.score
    ]
    return sorted(rivals, key=lambda s: (-s.score, -s.pruned))
