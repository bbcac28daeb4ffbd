"""A stricter reduction of what an index holds, from what it holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from docpruner.codecs import Encoded, Rows, encode
from docpruner.encoders.registry import EncoderName
from docpruner.errors import PruningWarning, SpecError
from docpruner.index.page_map import PageMap, map_of, pack, unpack
from docpruner.index.records import PageRow
from docpruner.index.settings import Settings
from docpruner.index.store import PageStore
from docpruner.index.writer import Progress
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.keep import compose, reduced_page
from docpruner.types import PageEmbedding, Reduction


@dataclass(frozen=True)
class Pruned:
    """How many vectors an index has, and had."""

    before: int
    after: int


def prune(
    store: PageStore,
    spec: str,
    *,
    dry_run: bool = False,
    wait: float = 10.0,
    progress: Progress | None = None,
) -> Pruned:
    """Reduce every page of an index by `spec`, as if it had been indexed with it.

    The spec may be another threshold on the importances that keeps no patch that is gone already,
    or the index's own spec with more stages (`docpruner:k=-0.25+sem-cluster:factor=2`). Either all
    pages are changed or none. Vectors that are merged are rounded by the codec a second time.
    With `dry_run`, only says what would be left.
    """
    new = reducer(spec)
    if new == reducer(store.settings.spec):
        vectors = int(store.snapshot().vectors.sum())
        return Pruned(vectors, vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PruningWarning)
        if dry_run:
            change = _Stricter(store.settings, new)
            for row, rows in store.rows(progress):
                change(row, rows)
            return change.done
        with store.writer(wait) as writer:
            change = _Stricter(writer.settings, new)
            writer.transform(change, replace(writer.settings, spec=str(new)), progress)
            return change.done


class _Stricter:
    def __init__(self, settings: Settings, new: Reducer) -> None:
        old = reducer(settings.spec)
        self._settings, self._old, self._new = settings, old, new
        self.done = Pruned(0, 0)
        self._prompt = EncoderName.read(settings.encoder).prompt
        if not settings.importances:
            raise SpecError(
                "the index was made without the importances of its patches; index the documents "
                f"again with {new}"
            )
        continues = new.stages[: len(old.stages)] == old.stages
        merged = any(stage.strategy.kind == "merging" for stage in old.stages)
        if not continues and (
            merged or (new.stages[0].strategy.sees_vectors and str(old) != "none")
        ):
            raise SpecError(
                f"what is stored was reduced by {old}; {new} can't be had from that. Add stages "
                f"to it ({old}+…), or index the documents again"
            )
        self._reduce: Callable[[PageEmbedding, Reduction], Reduction] = (
            self._further if continues else self._afresh
        )

    def __call__(self, row: PageRow, rows: Rows) -> tuple[Rows, bytes]:
        new_rows, new_map = self._changed(row, rows)
        self.done = Pruned(self.done.before + len(rows), self.done.after + len(new_rows))
        return new_rows, new_map

    def _changed(self, row: PageRow, rows: Rows) -> tuple[Rows, bytes]:
        page_map = unpack(row.map)
        stored = Encoded(self._settings.codec, self._settings.dim, rows)
        page, before = _rebuilt(row, stored, page_map)
        page = replace(page, prompt=self._prompt)
        after = self._reduce(page, before)
        new_map = pack(map_of(page, after, words=page_map.words))
        only_drops = len(after.sources) == len(after.vectors) == len(np.unique(after.sources))
        if only_drops and len(before.sources) == len(before.vectors):
            place = {source: row for row, source in enumerate(before.sources.tolist())}
            return rows[[place[source] for source in after.sources.tolist()]], new_map
        return encode(after.vectors, self._settings.codec).rows, new_map

    def _further(self, page: PageEmbedding, before: Reduction) -> Reduction:
        rest = Reducer(self._new.stages[len(self._old.stages) :])
        if not rest.stages:  # another process has done it just now
            return before
        return compose(before, rest(reduced_page(page, before)))

    def _afresh(self, page: PageEmbedding, before: Reduction) -> Reduction:
        gone = np.setdiff1d(np.arange(len(page.vectors)), before.sources)
        first = self._new.stages[0](page)
        missed = np.intersect1d(first.sources, gone)
        if len(missed):
            raise SpecError(
                f"{self._new} would keep {len(missed)} patches of {page.name} that {self._old} has "
                "dropped; index the documents again to keep more"
            )
        return self._new(page)


def _rebuilt(row: PageRow, stored: Encoded, page_map: PageMap) -> tuple[PageEmbedding, Reduction]:
    """The page as it was encoded, zeros where vectors are gone, and its reduction."""
    vectors = np.zeros((len(page_map.cells), stored.dim), np.float32)
    kept = stored.decode()
    counts = np.diff(page_map.offsets)
    vectors[page_map.sources] = np.repeat(kept, counts, axis=0)
    name = f"{PurePath(row.path).name}#{row.number}"
    importance = page_map.importance
    page = PageEmbedding(
        name,
        vectors,
        np.zeros(len(vectors), np.float32) if importance is None else importance,
        page_map.grid,
        page_map.cells,
        page_map.boxes,
        page_map.global_vector,
    )
    reduction = Reduction(
        name, kept, page_map.sources, page_map.offsets, page_map.special, row.patches
    )
    return page, reduction
