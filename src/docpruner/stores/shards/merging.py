"""What shards say, made into what one index would say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from docpruner.errors import IndexStateError
from docpruner.stores.records import RankedPage, Stats
from docpruner.stores.settings import Settings
from docpruner.stores.totals import QUANTILES

AGREED = ("encoder", "dim", "spec", "codec")
STEPS = np.linspace(0, 1, 1001)
ADDED_UP = [
    field.name
    for field in fields(Stats)
    if field.name not in ("settings", "pruned", "pruned_by_page", "pruned_histogram")
]


def merged_settings(location: str, settings: Mapping[str, Settings]) -> Settings:
    """Of shards, by their locations. They have to have been made alike, or else a page's score
    would depend on the shard that it is in."""
    (first, common), *others = settings.items()
    roots = {where: _root(where, own) for where, own in settings.items()}
    for where, own in others:
        for what in AGREED:
            ours, theirs = getattr(common, what), getattr(own, what)
            if ours != theirs:
                raise IndexStateError(
                    f"the shards of {location} were not made alike: {first} has {what} {ours}, "
                    f"{where} has {theirs}; {_remedy(what)}"
                )
        if roots[where] != roots[first]:
            raise IndexStateError(
                f"the shards of {location} name their documents below different roots: {first} "
                f"below {roots[first] or 'none'}, {where} below {roots[where] or 'none'}; make "
                "them with one --root, or without any"
            )
    return replace(
        common,
        importances=all(own.importances for own in settings.values()),
        text=all(own.text for own in settings.values()),
        root=roots[first],
        budget="",
    )


def _remedy(what: str) -> str:
    if what in ("spec", "codec"):
        return "docpruner prune gives a shard a stricter spec or another codec"
    return "make them with one encoder"


def _root(location: str, settings: Settings) -> str:
    """Where it is now; that of a folder is saved from the folder on."""
    if not settings.root:
        return ""
    base = "" if "://" in location else os.path.abspath(location)
    return os.path.normpath(os.path.join(base, settings.root))


def best_of(rankings: Iterable[Sequence[RankedPage]], k: int) -> list[RankedPage]:
    """The best of all; equals stand by document and number, as in one index."""
    pages = [page for ranking in rankings for page in ranking]
    return sorted(pages, key=lambda page: (-page.score, page.document, page.number))[:k]


def in_turns(ranking: Sequence[RankedPage]) -> list[RankedPage]:
    """Scored by its places alone, so that rankings on different scales take turns."""
    return [page._replace(score=1 / place) for place, page in enumerate(ranking, 1)]


def merged_stats(settings: Settings, parts: Sequence[Stats]) -> Stats:
    """Numbers are added up. The quantiles between the least and the greatest are close but not
    exact, as no shard says more of its pages than its own."""
    sums = {name: sum(getattr(part, name) for part in parts) for name in ADDED_UP}
    removed = [part.vectors_unpruned - part.vectors for part in parts]
    patches = [
        round(gone / part.pruned) if part.pruned else part.vectors_unpruned
        for gone, part in zip(removed, parts, strict=True)
    ]
    return Stats(
        settings=settings,
        pruned=sum(removed) / sum(patches) if sum(patches) else 0.0,
        pruned_by_page=_quantiles([part for part in parts if part.pages]),
        pruned_histogram=np.sum([part.pruned_histogram for part in parts], axis=0).tolist(),
        **sums,
    )


def _quantiles(parts: Sequence[Stats]) -> dict[str, float]:
    if len(parts) < 2:
        return {name: value for part in parts for name, value in part.pruned_by_page.items()}
    curves = [np.interp(STEPS, QUANTILES, list(part.pruned_by_page.values())) for part in parts]
    values = np.concatenate(curves)
    weights = np.repeat([part.pages for part in parts], len(STEPS))
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, np.array(QUANTILES) * below[-1])
    return {
        f"{quantile:g}": float(values[order[min(place, len(order) - 1)]])
        for quantile, place in zip(QUANTILES, places.tolist(), strict=True)
    }
