"""A stricter reduction, or a smaller codec, of what an index holds, from what it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from docpruner.codecs import CodecName, bytes_per_vector, encode
from docpruner.encoders.registry import EncoderName
from docpruner.errors import SpecError
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.keep import compose, reduced_page
from docpruner.reduce.threshold import unwarned
from docpruner.stores.contract import WAIT, Progress, Store
from docpruner.stores.page_map import map_of
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import PageEmbedding, Reduction


@dataclass(frozen=True)
class Pruned:
    """How many vectors an index has, and had, and their bytes."""

    before: int
    after: int
    bytes_before: int = 0
    bytes_after: int = 0


def prune(
    store: Store,
    spec: str | None = None,
    *,
    codec: CodecName | None = None,
    dry_run: bool = False,
    wait: float = WAIT,
    progress: Progress | None = None,
) -> Pruned:
    """Reduce every page of an index by `spec`, as if it had been indexed with it, or write its
    vectors in another `codec`, or both.

    The spec may be another threshold on the importances that keeps no patch that is gone already,
    or the index's own spec with more stages (`docpruner:k=-0.25+sem-cluster:factor=2`). Either all
    pages are changed or none. Where strategies look at vectors, they see them as they are stored;
    vectors that are merged, or get another codec, are rounded a second time. With `dry_run`, only
    says what would be left.
    """
    with store.reader() as reader:
        own = reader.settings
        new, to = reducer(spec or own.spec), codec or own.codec
        bytes_per_vector(to, own.dim)  # refuses a codec that there isn't
        if new == reducer(own.spec) and to == own.codec:
            vectors = reader.stats().vectors
            return Pruned(vectors, vectors, vectors * own.row_bytes, vectors * own.row_bytes)
    with unwarned():
        if dry_run:
            return _tried(store, new, to, progress)
        with store.writer(wait) as writer:
            change = Stricter(writer.settings, new, to)
            settings = replace(writer.settings, spec=str(new), codec=to)
            writer.rewrite(change, settings, progress)
            return change.done


def _tried(store: Store, new: Reducer, codec: CodecName, progress: Progress | None) -> Pruned:
    with store.reader() as reader:
        change = Stricter(reader.settings, new, codec)
        names = reader.pages()
        for done, name in enumerate(names, 1):
            page = reader.page(*name)
            if page is not None:
                change(page)
            if progress is not None:
                progress(done, len(names))
        return change.done


class Stricter:
    """Gives a page another spec and codec; one that has them comes back the same."""

    def __init__(self, settings: Settings, new: Reducer, codec: CodecName) -> None:
        old = reducer(settings.spec)
        self._settings, self._old, self._new, self._codec = settings, old, new, codec
        self.done = Pruned(0, 0)
        self._prompt = EncoderName.read(settings.encoder).prompt
        continues = new.stages[: len(old.stages)] == old.stages
        stages = new.stages[len(old.stages) :] if continues else new.stages
        if not settings.importances and any(each.strategy.sees_importance for each in stages):
            raise SpecError(
                "the index was made without the importances of its patches; index the documents "
                f"again with {new}"
            )
        merged = any(stage.strategy.kind == "merging" for stage in old.stages)
        if not continues and (
            merged or (new.stages[0].strategy.sees_vectors and str(old) != "none")
        ):
            raise SpecError(
                f"the index was reduced by {old}, and {new} can't be computed from what is left. "
                f"Add stages to it ({old}+…), or index the documents again"
            )
        self._reduce: Callable[[PageEmbedding, Reduction], Reduction] = (
            self._further if continues else self._afresh
        )

    @property
    def may_refuse(self) -> bool:
        """Whether it can turn out at some page that the spec keeps what is gone."""
        return self._reduce == self._afresh

    def __call__(self, page: StoredPage) -> StoredPage:
        new = self._changed(page)
        done = self.done
        self.done = Pruned(
            done.before + len(page.vectors),
            done.after + len(new.vectors),
            done.bytes_before + page.vectors.nbytes,
            done.bytes_after + new.vectors.nbytes,
        )
        return new

    def _changed(self, stored: StoredPage) -> StoredPage:
        new = stored if self._new == self._old else self._reduced(stored)
        if new.vectors.codec == self._codec:
            return new
        return replace(new, vectors=encode(new.vectors.decode(), self._codec))

    def _reduced(self, stored: StoredPage) -> StoredPage:
        page, before = _rebuilt(stored)
        page = replace(page, prompt=self._prompt)
        after = self._reduce(page, before)
        provenance = map_of(
            page,
            after,
            importances=self._settings.importances,
            words=stored.provenance.words,
        )
        only_drops = len(after.sources) == len(after.vectors) == len(np.unique(after.sources))
        if only_drops and len(before.sources) == len(before.vectors):
            place = {source: row for row, source in enumerate(before.sources.tolist())}
            rows = stored.vectors.rows[[place[source] for source in after.sources.tolist()]]
            vectors = replace(stored.vectors, rows=rows)
        else:
            vectors = encode(after.vectors, self._codec)
        return replace(stored, vectors=vectors, provenance=provenance)

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


def _rebuilt(stored: StoredPage) -> tuple[PageEmbedding, Reduction]:
    """The page as it was encoded, zeros where vectors are gone, and its reduction."""
    origin = stored.provenance
    vectors = np.zeros((len(origin.cells), stored.vectors.dim), np.float32)
    kept = stored.vectors.decode()
    counts = np.diff(origin.offsets)
    vectors[origin.sources] = np.repeat(kept, counts, axis=0)
    importance = origin.importance
    page = PageEmbedding(
        stored.name,
        vectors,
        np.zeros(len(vectors), np.float32) if importance is None else importance,
        origin.grid,
        origin.cells,
        origin.boxes,
        origin.global_vector,
        centrality=origin.centrality,
    )
    reduction = Reduction(
        stored.name, kept, origin.sources, origin.offsets, origin.special, stored.patches
    )
    return page, reduction
