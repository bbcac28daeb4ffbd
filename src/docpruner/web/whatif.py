"""What another spec would keep, from the importances that an index stores."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from docpruner.codecs import bytes_per_vector
from docpruner.errors import SpecError
from docpruner.index.page_map import unpack
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Snapshot
from docpruner.index.store import PageStore
from docpruner.reduce import Reducer, reducer
from docpruner.types import PageEmbedding, readonly
from docpruner.web.kept import Recent
from docpruner.web.shapes import WhatIf

MOST_PATCHES = 32_000_000  # of all pages, eight bytes each
ANSWERS_KEPT = 64


def read_spec(spec: str, settings: Settings) -> Reducer:
    """A spec that can be judged without the vectors that were pruned."""
    wanted = reducer(spec)
    if not settings.importances:
        raise SpecError("the index was made without the importances of its patches")
    seeing = [s.strategy.name for s in wanted.stages if s.strategy.sees_vectors]
    if seeing:
        raise SpecError(
            f"{seeing[0]} looks at vectors, and those that were pruned are gone; try one that "
            "looks at importances only, such as docpruner:k=0.5"
        )
    return wanted


@dataclass(frozen=True, eq=False)
class Importances:
    """The pages of an index at one moment: their importances, and nothing of their vectors."""

    snapshot: Snapshot
    pages: list[PageEmbedding]
    special: int  # vectors of all pages that stand for no patch


class WhatIfs:
    """Answers for the whole index. Importances are read once, and again when it has changed."""

    def __init__(self, store: PageStore) -> None:
        self._store = store
        self._loaded: Importances | None = None
        self._answers: Recent[tuple[Snapshot, str], WhatIf] = Recent(ANSWERS_KEPT)
        self._one = threading.Lock()

    def answer(self, spec: str) -> WhatIf:
        settings = self._store.settings
        wanted = read_spec(spec, settings)
        with self._one:
            loaded = self._importances(settings)
            key = (loaded.snapshot, str(wanted))
            found = self._answers.get(key)
            if found is None:
                found = _summed(loaded, wanted, settings)
                self._answers.put(key, found, 1)
        return found

    def _importances(self, settings: Settings) -> Importances:
        snapshot = self._store.snapshot()
        if self._loaded is None or self._loaded.snapshot is not snapshot:
            self._loaded = None  # gone before the new ones come
            self._loaded = _load(self._store, snapshot, settings)
        return self._loaded


def _load(store: PageStore, snapshot: Snapshot, settings: Settings) -> Importances:
    prompt = reducer(settings.spec).prompt
    zeros = readonly(
        np.zeros((0, 4), np.float32)
    )  # boxes and vectors of all: nothing looks at them
    pages: list[PageEmbedding] = []
    special = total = 0
    for row, _ in store.rows():
        found = unpack(row.map)
        if found.importance is None:
            continue
        importance = readonly(found.importance[found.patches])
        count = len(importance)
        total += count
        if total > MOST_PATCHES:
            raise SpecError(
                f"the index has more than {MOST_PATCHES:,} patches, too many to keep ready; "
                "docpruner prune --dry-run says what a spec would leave"
            )
        if count > len(zeros):
            zeros = readonly(np.zeros((2 * count, 4), np.float32))
        name = f"{PurePath(row.path).name}#{row.number}"  # as `random` draws by it
        blank = zeros[:count]
        pages.append(PageEmbedding(name, blank, importance, (1, count), boxes=blank, prompt=prompt))
        special += row.special
    return Importances(snapshot, pages, special)


def _summed(loaded: Importances, wanted: Reducer, settings: Settings) -> WhatIf:
    left = np.array([wanted(page).patches for page in loaded.pages], np.int64)
    patches = np.array([len(page.importance) for page in loaded.pages], np.int64)
    vectors, unpruned = (int(count.sum()) + loaded.special for count in (left, patches))
    return WhatIf(
        spec=str(wanted),
        pages=len(left),
        vectors=vectors,
        vectors_unpruned=unpruned,
        pruned=float(1 - left.sum() / patches.sum()) if len(left) else 0.0,
        bytes=vectors * settings.row_bytes,
        bytes_unpruned_float16=unpruned * bytes_per_vector("float16", settings.dim),
        histogram=np.histogram(1 - left / np.maximum(patches, 1), 10, (0, 1))[0].tolist(),
    )
