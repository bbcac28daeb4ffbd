"""What another spec would keep, from the importances that an index stores."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from docpruner.codecs import bytes_per_vector
from docpruner.errors import SpecError
from docpruner.reduce import Reducer, reducer
from docpruner.stores.contract import Reader
from docpruner.stores.settings import Settings
from docpruner.types import PageEmbedding, readonly

MOST_PATCHES = 32_000_000  # of all pages, eight bytes each


@dataclass(frozen=True)
class WhatIf:
    """What a spec would keep of a whole index."""

    spec: str
    pages: int
    vectors: int
    vectors_unpruned: int
    pruned: float  # share of all patches, 0..1
    bytes: int  # of the vectors that stay, in the codec of the index
    bytes_unpruned_float16: int
    histogram: list[int]  # pages by the share that is pruned, in ten equal steps from 0 to 1


@dataclass(frozen=True, eq=False)
class Importances:
    """The pages of an index at one moment: their importances, and nothing of their vectors."""

    version: Hashable  # of the index
    settings: Settings
    pages: list[PageEmbedding]
    special: int  # vectors of all pages that stand for no patch

    @classmethod
    def load(cls, reader: Reader) -> Importances:
        settings = reader.settings
        prompt = reducer(settings.spec).prompt
        blank = np.zeros((0, 4), np.float32)  # boxes and vectors of all: nothing looks at them
        pages: list[PageEmbedding] = []
        special = total = 0
        for name in reader.pages():
            stored = reader.page(*name)
            if stored is None or stored.provenance.importance is None:
                continue
            origin = stored.provenance
            importance = readonly(stored.provenance.importance[origin.patches])
            central = origin.centrality
            count = len(importance)
            total += count
            if total > MOST_PATCHES:
                raise SpecError(
                    f"the index has more than {MOST_PATCHES:,} patches, too many to keep ready; "
                    "docpruner prune --dry-run says what a spec would leave"
                )
            if count > len(blank):
                blank = readonly(np.zeros((2 * count, 4), np.float32))
            flat = blank[:count]
            pages.append(
                PageEmbedding(
                    stored.name,  # as `random` draws by it
                    flat,
                    importance,
                    (1, count),
                    boxes=flat,
                    prompt=prompt,
                    centrality=None if central is None else readonly(central[origin.patches]),
                )
            )
            special += stored.special
        return cls(reader.version, settings, pages, special)

    def under(self, spec: str) -> WhatIf:
        """What `spec` would keep; one that also looks at vectors is a SpecError."""
        wanted = judged_by_importance(spec, importances=self.settings.importances)
        left = np.array([wanted(page).patches for page in self.pages], np.int64)
        patches = np.array([len(page.importance) for page in self.pages], np.int64)
        vectors, unpruned = (int(count.sum()) + self.special for count in (left, patches))
        return WhatIf(
            spec=str(wanted),
            pages=len(left),
            vectors=vectors,
            vectors_unpruned=unpruned,
            pruned=float(1 - left.sum() / patches.sum()) if len(left) else 0.0,
            bytes=vectors * self.settings.row_bytes,
            bytes_unpruned_float16=unpruned * bytes_per_vector("float16", self.settings.dim),
            histogram=np.histogram(1 - left / np.maximum(patches, 1), 10, (0, 1))[0].tolist(),
        )


def judged_by_importance(spec: str, *, importances: bool) -> Reducer:
    """A spec that can be judged without the vectors that were pruned; others are a SpecError.

    `importances` says whether those of the pruned patches were stored.
    """
    wanted = reducer(spec)
    if not importances:
        raise SpecError(
            "the index was made without the importances of its patches, so nothing but what is "
            "stored can be shown; index the documents again to compare specs"
        )
    for stage in wanted.stages:
        if stage.strategy.sees_vectors:
            raise SpecError(
                f"{stage.strategy.name} looks at vectors, and those of pruned patches are not in "
                "the index; try one that looks at importances only, such as docpruner:k=0.5, or "
                f"see it on the file: docpruner explain FILE --spec {wanted}"
            )
    return wanted
