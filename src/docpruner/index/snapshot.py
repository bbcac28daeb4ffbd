"""The pages of an index at one moment, as arrays, and exact scores over any of them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CodecName, Encoded, Rows
from docpruner.errors import ScoringError
from docpruner.index.records import DocumentEntry
from docpruner.maxsim import score_pages
from docpruner.types import BoolArray, FloatArray

Numbers = npt.NDArray[np.int64]

WORTH_SKIPPING = 2000  # rows between two wanted pages from which another pass is the cheaper way


@dataclass(frozen=True)
class Filter:
    """Which pages to search: all of those that every given part allows."""

    documents: tuple[str, ...] = ()  # globs: of the name, the last parts, or the whole path
    pages: tuple[int, int | None] | None = None  # first and last number; None is the end
    metadata: Mapping[str, str] | None = None

    def allows(self, document: DocumentEntry) -> bool:
        if self.documents and not any(matches(document.path, glob) for glob in self.documents):
            return False
        wanted = (self.metadata or {}).items()
        return all(document.metadata.get(key) == value for key, value in wanted)


def matches(path: str, glob: str) -> bool:
    """Whether a path, or its last parts, fit a glob; `*` goes across folders too.

    A path fits itself, whatever its signs mean in a glob.
    """
    if path == glob or path.endswith(f"/{glob}"):
        return True
    return fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(path, f"*/{glob}")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Columns of the searchable pages, in the order in which their rows lie."""

    version: int  # of the catalogue's data
    documents: Mapping[int, DocumentEntry]
    segment_rows: Mapping[int, int]
    ids: Numbers
    document: Numbers
    number: Numbers
    segment: Numbers
    start: Numbers
    vectors: Numbers

    def __len__(self) -> int:
        return len(self.ids)

    def chosen(self, which: Filter) -> BoolArray:
        """The pages that a filter allows."""
        allowed = [entry.id for entry in self.documents.values() if which.allows(entry)]
        chosen: BoolArray = np.isin(self.document, allowed)
        if which.pages is not None:
            first, last = which.pages
            chosen &= self.number >= first
            if last is not None:
                chosen &= self.number <= last
        return chosen

    def scores(
        self,
        queries: Sequence[FloatArray],
        chosen: BoolArray,
        rows_of: Callable[[int], Rows],
        *,
        codec: CodecName,
        dim: int,
    ) -> FloatArray:
        """Of every query against every page; minus infinity where `chosen` is false."""
        scores = np.full((len(queries), len(self)), -np.inf, np.float32)

        def score(places: Numbers) -> None:
            first, last = places[0], places[-1]
            rows = rows_of(int(self.segment[first]))
            low, high = self.start[first], self.start[last] + self.vectors[last]
            starts = self.start[places]
            edges = np.stack([starts, starts + self.vectors[places]], axis=1).reshape(-1)
            new = np.diff(edges, prepend=-1) != 0  # where a page ends the next one often begins
            corpus = Encoded(codec, dim, rows[low:high])
            found = score_pages(queries, corpus, edges[new] - low)
            scores[:, places] = found[:, np.cumsum(new)[::2] - 1]

        for places in self._runs(np.flatnonzero(chosen), WORTH_SKIPPING):
            try:
                score(places)
            except ScoringError:  # perhaps of a damaged page that was taken out and lies between
                for run in self._runs(places, 0):
                    score(run)
        return scores

    def best(self, scores: FloatArray, k: int) -> list[tuple[int, float]]:
        """Ids and scores of the `k` best pages; equals stand by path and number."""
        allowed = np.flatnonzero(scores > -np.inf)
        if len(allowed) > k:
            least = np.partition(scores[allowed], -k)[-k]
            allowed = allowed[scores[allowed] >= least]

        def rank(place: int) -> tuple[float, str, int]:
            path = self.documents[int(self.document[place])].path
            return -float(scores[place]), path, int(self.number[place])

        ranked = sorted(map(int, allowed), key=rank)[:k]
        return [(int(self.ids[place]), float(scores[place])) for place in ranked]

    def _runs(self, places: Numbers, most: int) -> Iterator[Numbers]:
        """The places, cut where pages lie more than `most` rows apart."""
        if not len(places):
            return
        ends = self.start[places] + self.vectors[places]
        apart = (np.diff(self.segment[places]) != 0) | (self.start[places][1:] - ends[:-1] > most)
        yield from np.split(places, np.flatnonzero(apart) + 1)
