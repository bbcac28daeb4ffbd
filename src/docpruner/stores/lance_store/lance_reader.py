"""One moment of an index: a version of its table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from docpruner.errors import DamagedIndexError, ScoringError
from docpruner.stores.lance_store.lance_listing import Listing, Numbers
from docpruner.stores.lance_store.lance_rows import (
    STORED,
    page_checksum,
    searched_words,
    stored_page,
)
from docpruner.stores.lance_store.lance_scoring import RowCache, scores_of
from docpruner.stores.ranking import best_pages
from docpruner.stores.records import (
    DocumentEntry,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.totals import summed_up
from docpruner.types import BoolArray, Filter, FloatArray

MANIFEST = 1 << 10  # bytes that a version takes besides its rows, about


class LanceReader:
    def __init__(self, listing: Listing, cache: RowCache) -> None:
        self._listing, self._cache = listing, cache
        self.version = listing.version
        self.settings = listing.settings

    # ------------------------------------------------------------------ documents and pages

    def documents(self) -> Sequence[DocumentEntry]:
        return [each.entry for each in self._listing.documents]

    def document(self, name: str) -> DocumentEntry | None:
        found = self._listing.current(name)
        return None if found is None else found.entry

    def names(self) -> Sequence[str]:
        return [each.name for each in self._listing.documents]

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        return [each.name for each in self._listing.documents if each.content == content_hash]

    def pages(self) -> Sequence[PageName]:
        places = np.flatnonzero(self._listing.searchable)
        return self._listing.names_of(places.tolist())

    def page(self, document: str, number: int) -> StoredPage | None:
        place = self._listing.place_of(PageName(document, number))
        return None if place is None else self._stored(place)

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        """A page whose bytes are not as they were written is not handed on."""
        for rows, start in zip(self._listing.of_pages, self._listing.starts, strict=False):
            if content_hash and content_hash in rows.by_content:
                return self._stored(int(start) + rows.by_content[content_hash], sound=True)
        return None

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        listing = self._listing
        versions = listing.by_name.get(document)
        if not versions:
            return None
        metadata = versions[0].metadata
        for version in versions:
            if version.content == content_hash:
                places = listing.pages_of(version.id)
                there = frozenset(listing.number[places].tolist())
                silent = places[listing.silent[places]]
                return KnownDocument(
                    same=True,
                    pages=version.pages,
                    there=there,
                    without_words=frozenset(listing.number[silent].tolist()),
                    whole=len(versions) == 1 and len(there) == version.pages,
                    metadata=metadata,
                )
        return KnownDocument(False, metadata=metadata)

    def _stored(self, place: int, *, sound: bool = False) -> StoredPage | None:
        listing = self._listing
        ((rows, places),) = listing.in_fragments(np.array([place]))
        (row,) = listing.table.take(rows.fragment, places.tolist(), STORED).to_pylist()
        if sound and page_checksum(row) != row["checksum"]:
            return None
        (name,) = listing.names_of([place])
        try:
            return stored_page(row, name.document, self.settings)
        except DamagedIndexError as error:
            raise self._damaged(str(error)) from error

    # ------------------------------------------------------------------ search

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,  # noqa: ARG002  # it always is
        candidates: int | None = None,  # noqa: ARG002
    ) -> list[list[RankedPage]]:
        places = np.flatnonzero(self._allowed(which))
        if among is None:
            return self._ranked(queries, k, places)
        return [
            self._ranked([query], k, np.intersect1d(places, self._places_of(pages)))[0]
            for query, pages in zip(queries, among, strict=True)
        ]

    def _ranked(
        self, queries: Sequence[FloatArray], k: int, places: Numbers
    ) -> list[list[RankedPage]]:
        if not len(places):
            return [[] for _ in queries]
        try:
            scores = scores_of(self._listing, self._cache, queries, places)
        except DamagedIndexError as error:
            raise self._damaged(str(error)) from error
        except ScoringError as error:
            if "damaged" in str(error):
                raise self._damaged("vectors hold NaN or infinity") from error
            raise

        def names(some: Sequence[int]) -> list[PageName]:
            return self._listing.names_of(places[list(some)].tolist())

        return [best_pages(row, k, names) for row in scores]

    def _places_of(self, pages: Collection[PageName]) -> Numbers:
        found = (self._listing.place_of(page) for page in pages)
        return np.array(sorted(place for place in found if place is not None), np.int64)

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        """By Lance's BM25. It knows none of our filters, so more is asked for until there is
        enough, and until no page that is left out can have the score of the last one."""
        documents = self._allowed_documents(which)
        words = searched_words(query)
        if not words or not documents or k < 1:
            return []
        limit = 4 * k
        while True:
            found = self._listing.table.search_words(words, ("document", "number"), limit)
            rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
            best = sorted(
                (-score, documents[document], number)
                for document, number, score in rows
                if document in documents and which.allows_page(number)
            )[:k]
            least = min((score for *_, score in rows), default=0.0)
            if len(rows) < limit or (len(best) == k and -best[-1][0] > least):
                return [RankedPage(name, number, -negated) for negated, name, number in best]
            limit *= 4

    def _allowed_documents(self, which: Filter) -> dict[int, str]:
        """The names of those that can be searched and that a filter allows."""
        return {
            each.id: each.name
            for each in self._listing.documents
            if which.allows(each.name, each.metadata)
        }

    def _allowed(self, which: Filter) -> BoolArray:
        """Of all pages: those that can be searched and that a filter allows."""
        listing = self._listing
        chosen = listing.searchable
        if which.documents or which.metadata:
            some = np.array(list(self._allowed_documents(which)), np.int64)
            chosen = chosen & np.isin(listing.document, some)
        if which.pages is not None:
            first, last = which.pages
            chosen = chosen & (listing.number >= first)
            if last is not None:
                chosen &= listing.number <= last
        return chosen

    # ------------------------------------------------------------------ what it holds

    def stats(self) -> Stats:
        listing = self._listing
        table, there = listing.table, listing.searchable
        documents = listing.documents
        files = (*listing.of_documents, *listing.of_pages)
        data = sum(f.bytes * f.rows // f.physical for f in (each.fragment for each in files))
        vectors = listing.column("vectors")
        empty = listing.head.bytes + MANIFEST
        besides = max(0, data - int(vectors.sum()) * self.settings.row_bytes)
        besides += empty + table.bytes_of_indexes()
        texts = listing.column("text_bytes")[there]
        on_disk = table.bytes_on_disk()
        needed = int(vectors.sum()) * self.settings.row_bytes + besides
        return summed_up(
            self.settings,
            vectors[there],
            listing.column("special")[there],
            listing.column("patches")[there],
            listing.silent[there],
            documents=len(documents),
            expected_pages=sum(each.pages for each in documents),
            bytes_on_disk=on_disk,
            bytes_reclaimable=max(0, on_disk - needed),
            bytes_besides=besides,
            bytes_empty=empty,
            pages_with_text=int((texts > 0).sum()),
            bytes_of_text=int(texts.sum()) + table.bytes_of_indexes(),
        )

    def _damaged(self, reason: str) -> DamagedIndexError:
        location = self._listing.table.location
        return DamagedIndexError(f"{location}: {reason}; run: docpruner verify {location}")
