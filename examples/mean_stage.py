"""A search stage of one's own: pages by the mean of their vectors. See "Add a search stage" in
CONTRIBUTING.md.

It is cheap, and it loses right answers: a mean says little of a page. It shows where a stage goes,
not which one to use.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from docpruner.stores.contract import Reader
from docpruner.stores.records import PageName
from docpruner.types import Filter, FloatArray


class MeanStage:
    """Ranks pages by the mean of their vectors, and hands on the first `count`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._version: object = None
        self._names: list[PageName] = []
        self._means: FloatArray = np.empty((0, 0), np.float32)

    def candidates(
        self, reader: Reader, queries: Sequence[FloatArray], which: Filter
    ) -> Sequence[Collection[PageName]]:
        self._refresh(reader)
        allowed = {
            entry.name for entry in reader.documents() if which.allows(entry.name, entry.metadata)
        }
        places = [
            place
            for place, name in enumerate(self._names)
            if name.document in allowed and which.allows_page(name.number)
        ]
        chosen = []
        for query in queries:
            scores = self._means[places] @ query.mean(axis=0)
            best = np.argsort(-scores, kind="stable")[: self._count]
            chosen.append({self._names[places[place]] for place in best.tolist()})
        return chosen

    def _refresh(self, reader: Reader) -> None:
        """What is derived from an index is made again when the index has changed."""
        if self._version == reader.version:
            return
        self._names = list(reader.pages())
        pages = [reader.page(*name) for name in self._names]
        self._means = np.array([page.vectors.decode().mean(axis=0) for page in pages if page])
        self._version = reader.version
