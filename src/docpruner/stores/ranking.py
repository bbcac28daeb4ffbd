"""The best of some scores, for stores that score in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from docpruner.stores.records import PageName, RankedPage
from docpruner.types import FloatArray


def best_pages(
    scores: FloatArray, k: int, names_of: Callable[[Sequence[int]], Sequence[PageName]]
) -> list[RankedPage]:
    """The `k` places of the highest scores; equals stand by document and number.

    A score of minus infinity stands for a page that is not to be ranked.
    """
    places = np.flatnonzero(scores > -np.inf)
    if len(places) > k:
        least = np.partition(scores[places], -k)[-k]
        places = places[scores[places] >= least]
    names = names_of(places.tolist())
    ranked = sorted(zip((-scores[places]).tolist(), names, strict=True))
    return [RankedPage(*name, -negated) for negated, name in ranked[:k]]
