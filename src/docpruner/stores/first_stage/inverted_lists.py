"""Which pages own a centroid, and what they gain by the centroids near a query.

A page is judged as if each of its vectors were its centroid: for each token of the query the best
centroid that the page owns counts. Only the best centroids of a token are looked up; a page that
owns none of them is taken to have the next best, which makes it zero for all (as WARP has it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docpruner.errors import DamagedIndexError
from docpruner.stores.first_stage.centroids import Centroids, Labels
from docpruner.types import FloatArray, IntArray

try:
    from docpruner import _probe
except ImportError:  # no C compiler when the package was built
    _probe = None  # type: ignore[assignment]

Gains = npt.NDArray[np.uint16]

MOST_PAGES = 1 << 16  # of one set of lists, whose entries are of 16 bits
PROBED = 128  # centroids of each token
FULL = 65_000  # gains of all tokens together, which 16 bits hold


@dataclass(frozen=True, eq=False)
class Probe:
    """The centroids nearest to each token of a query, the best first, and what each is worth."""

    centroids: IntArray  # (tokens, each)
    worths: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, query: FloatArray, centroids: Centroids) -> Probe:
        places, values = centroids.best(query, PROBED)
        above = values - values[:, -1:]
        unit = above[:, 0].sum() / FULL
        worths = np.rint(above / unit) if unit > 0 else np.zeros_like(above)
        return cls(places, worths.astype(np.uint16))


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """`pages[offsets[c]:offsets[c + 1]]` own centroid `c`, in their order, each once."""

    offsets: npt.NDArray[np.uint32]
    pages: npt.NDArray[np.uint16]
    count: int  # of pages

    @classmethod
    def of(cls, labels: Labels, vectors: Labels, centroids: int) -> InvertedLists:
        """From the centroid of every vector, page after page, and the `vectors` of each page."""
        owners = np.repeat(np.arange(len(vectors), dtype=np.uint32), vectors)
        pairs = np.unique((labels.astype(np.uint32) << 16) + owners)  # 32 bits are sorted quickly
        offsets = np.searchsorted(pairs >> 16, np.arange(centroids + 1))
        return cls(offsets.astype(np.uint32), pairs.astype(np.uint16), len(vectors))

    def after(self, others: InvertedLists) -> InvertedLists:
        """Of both, where these pages are counted on after the others."""
        centroids = np.arange(len(self.offsets) - 1)
        labels = np.concatenate(
            [np.repeat(centroids, np.diff(lists.offsets)) for lists in (others, self)]
        )
        pages = np.concatenate([others.pages, self.pages.astype(np.int64) + others.count])
        order = np.argsort(labels, kind="stable")
        offsets = others.offsets + self.offsets
        return InvertedLists(offsets, pages[order].astype(np.uint16), others.count + self.count)

    def gains(self, probe: Probe) -> Gains:
        """Of every page; DamagedIndexError where the lists can't be what was written."""
        if _probe is None:
            return self._gains_by_numpy(probe)
        sums = np.empty(self.count, np.uint16)
        tokens = len(probe.centroids)
        if not _probe.gains(self.offsets, self.pages, probe.centroids, probe.worths, sums, tokens):
            raise DamagedIndexError("lists of the first stage are damaged")
        return sums

    def _gains_by_numpy(self, probe: Probe) -> Gains:
        sums = np.zeros(self.count, np.uint16)
        for centroids, worths in zip(probe.centroids.tolist(), probe.worths, strict=True):
            best = np.zeros(self.count, np.uint16)
            for centroid, worth in zip(centroids[::-1], worths[::-1], strict=True):
                try:
                    first, last = self.offsets[centroid : centroid + 2].astype(np.int64)
                    best[self.pages[first:last]] = worth
                except (IndexError, ValueError):
                    raise DamagedIndexError("lists of the first stage are damaged") from None
            sums += best
        return sums
