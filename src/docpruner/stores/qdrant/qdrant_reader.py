"""An index in Qdrant at one commit."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from docpruner.errors import ScoringError
from docpruner.stores.bm25 import words_in
from docpruner.stores.qdrant.history import PAGES, Head, alive, searchable
from docpruner.stores.qdrant.page_point import page_key, stored_page, word_place
from docpruner.stores.qdrant.points import Among, Between, Engine, Nearest, Scored, Where
from docpruner.stores.qdrant.version_listing import Listing, Version
from docpruner.stores.records import (
    DocumentEntry,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.totals import Counts, summed_up
from docpruner.types import Filter, FloatArray

CANDIDATES = 400  # pages chosen by quantised scores to be scored exactly, unless told otherwise

COUNTS = ("vectors", "special", "patches", "besides", "text_bytes")


class QdrantReader:
    def __init__(self, engine: Engine, head: Head, listing: Listing) -> None:
        self._engine, self._head, self._listing = engine, head, listing
        self.settings = head.settings

    @property
    def version(self) -> Hashable:
        return self._head.index, self._head.commit

    # ------------------------------------------------------------------ documents

    def documents(self) -> Sequence[DocumentEntry]:
        return [_entry(version) for version in self._listing.current.values()]

    def document(self, name: str) -> DocumentEntry | None:
        version = self._listing.current.get(name)
        return None if version is None else _entry(version)

    def names(self) -> Sequence[str]:
        return list(self._listing.current)

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        return [entry.name for entry in self.documents() if entry.content_hash == content_hash]

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        both = (self._listing.current.get(document), self._listing.incoming.get(document))
        versions = [version for version in both if version is not None]
        if not versions:
            return None
        metadata = versions[0].metadata
        for version in versions:
            record = version.record
            if record.content_hash == content_hash:
                where = PAGES + alive(self._head.commit) + (Among("version", [version.number]),)
                pages = {
                    found.payload["number"]: found.payload["words_from"]
                    for found in self._engine.scan(where, ["number", "words_from"])
                }
                silent = frozenset(n for n, source in pages.items() if source == "nowhere")
                whole = len(versions) == 1 and len(pages) == record.pages
                return KnownDocument(True, record.pages, frozenset(pages), silent, whole, metadata)
        return KnownDocument(False, metadata=metadata)

    # ------------------------------------------------------------------ pages

    def pages(self) -> Sequence[PageName]:
        where, known = PAGES + searchable(self._head.commit), self._listing.versions
        scanned = self._engine.scan(where, ["version", "number"])
        return sorted(self._name(p) for p, _ in scanned if p["version"] in known)

    def page(self, document: str, number: int) -> StoredPage | None:
        version = self._listing.current.get(document)
        if version is None:
            return None
        return self._first(Among("page", [page_key(version.number, number)]))

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        return self._first(Among("content", [content_hash.hex()]))

    def stored_pages(self) -> Iterator[tuple[Version, StoredPage]]:
        """All of them, also of versions on their way in."""
        return self._stored(())

    def count(self) -> int:
        return self._engine.count(PAGES + alive(self._head.commit))

    def _stored(self, where: Where) -> Iterator[tuple[Version, StoredPage]]:
        where = PAGES + alive(self._head.commit) + where
        for found in self._engine.scan(where, vectors=self._head.rows_are_vectors):
            version = self._listing.versions.get(found.payload["version"])
            if version is not None:
                yield version, stored_page(found, version.record.name, self._head)

    def _first(self, condition: Among) -> StoredPage | None:
        return next((page for _, page in self._stored((condition,))), None)

    def _name(self, payload: dict[str, int]) -> PageName:
        return PageName(self._listing.versions[payload["version"]].record.name, payload["number"])

    # ------------------------------------------------------------------ search

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,
        candidates: int | None = None,
    ) -> list[list[RankedPage]]:
        where = self._where(which)
        asked = []
        for number, query in enumerate(queries):
            own = where if among is None else (*where, self._among(among[number]))
            _check(query, number, self.settings.dim)
            asked.append(Nearest(query, own, k + 1))
        if not exact and self._head.quantization is not None:
            times = max((candidates or CANDIDATES) / (k + 1), 1.0)
            asked = [replace(each, oversampling=times) for each in asked]
        return self._best(asked, k)

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        words = {word_place(word): 1.0 for word in words_in(query)}
        if not words:
            return []
        (best,) = self._best([Nearest(words, self._where(which), k + 1)], k)
        return best

    def _best(self, asked: Sequence[Nearest], k: int) -> list[list[RankedPage]]:
        answers = self._engine.nearest(asked) if asked and self._listing.current else None
        if answers is None:
            return [[] for _ in asked]
        return [self._ranked(each, found, k) for each, found in zip(asked, answers, strict=True)]

    def _ranked(self, asked: Nearest, found: list[Scored], k: int) -> list[RankedPage]:
        """The engine leaves open which of several equals are among the best: so all of them are
        asked for, and the first by name taken."""
        while len(found) == asked.limit and found[-1].score == found[k - 1].score:
            asked = replace(asked, limit=4 * asked.limit)
            (found,) = self._engine.nearest([asked])
        ranked = [
            (-score, *self._name(payload))
            for payload, score in found
            if payload["version"] in self._listing.versions
        ]
        return [RankedPage(name, number, -score) for score, name, number in sorted(ranked)[:k]]

    def _where(self, which: Filter) -> Where:
        """The filter, with the versions of the documents that it allows."""
        where = searchable(self._head.commit)
        if which.pages is not None:
            where += (Between("number", *which.pages),)
        if which.documents or which.metadata:
            allowed: list[int] = []
            others: list[int] = []
            for name, version in self._listing.current.items():
                fits = which.allows(name, version.metadata)
                (allowed if fits else others).append(version.number)
            fewer = len(others) < len(allowed)
            if others:
                where += (Among("version", others if fewer else allowed, excluded=fewer),)
        return where

    def _among(self, pages: Collection[PageName]) -> Among:
        current = self._listing.current
        keys = [page_key(current[name].number, page) for name, page in pages if name in current]
        return Among("page", keys)

    # ------------------------------------------------------------------ what it holds

    def stats(self) -> Stats:
        commit, settings = self._head.commit, self.settings
        shown = self._counts(PAGES + searchable(commit))
        unseen = self._counts((*PAGES, Between("died", high=commit)))
        vectors, special, patches, besides, words, silent = shown.T
        width = settings.dim * np.dtype(self._head.datatype).itemsize
        taken = int(vectors.sum()) * width + int(besides.sum())
        dead = int(unseen[:, 0].sum()) * width + int(unseen[:, 3].sum())
        on_disk = self._engine.bytes_on_disk()
        documents = self._listing.current.values()
        return summed_up(
            settings,
            vectors,
            special,
            patches,
            silent,
            documents=len(documents),
            expected_pages=sum(version.record.pages for version in documents),
            bytes_on_disk=taken + dead if on_disk is None else on_disk,
            bytes_reclaimable=dead,
            bytes_besides=max(taken - int(vectors.sum()) * settings.row_bytes, 0),
            pages_with_text=int((words > 0).sum()),
            bytes_of_text=int(words.sum()),
        )

    def _counts(self, where: Where) -> Counts:
        """Of each page: `COUNTS`, and whether it has no words."""
        rows = [
            [*(found.payload[key] for key in COUNTS), found.payload["words_from"] == "nowhere"]
            for found in self._engine.scan(where, [*COUNTS, "words_from"])
        ]
        return np.array(rows, np.int64).reshape(-1, len(COUNTS) + 1)


def _entry(version: Version) -> DocumentEntry:
    record = version.record
    return DocumentEntry(record.name, record.pages, version.metadata, record.content_hash)


def _check(query: FloatArray, number: int, dim: int) -> None:
    if query.ndim != 2 or query.shape[1] != dim or not len(query):
        raise ScoringError(f"query {number} has shape {query.shape}, expected (tokens, {dim})")
    if not np.isfinite(query).all():
        raise ScoringError(f"query {number} holds NaN or infinity")
