"""One consistent moment of an index: a read transaction, and the rows that it speaks of."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from docpruner.codecs import Rows
from docpruner.errors import DamagedIndexError, DamageWarning, ScoringError
from docpruner.stores.folder.catalogue import metadata_of, read_settings
from docpruner.stores.folder.health import measure
from docpruner.stores.folder.listing import Listing
from docpruner.stores.folder.page_row import PAGE_ROWS, PageRow
from docpruner.stores.ranking import best_pages
from docpruner.stores.records import (
    DocumentEntry,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.settings import Settings
from docpruner.types import Filter, FloatArray

if TYPE_CHECKING:
    from docpruner.stores.folder.store import FolderStore

T = TypeVar("T")

TRIES = 5  # to read while a writer compacts and removes what is being read


class FolderReader:
    """Reads by a connection of its own, so that readers need not wait for each other.

    A writer that compacts removes files after its commit. Their rows stay readable for who has
    mapped them; if they have not been by then, and nothing has been read yet, the reader moves on
    to the new moment.
    """

    def __init__(self, store: FolderStore, connection: sqlite3.Connection) -> None:
        self._store, self._connection = store, connection
        self._folder = store.folder
        self._used = False  # something was read, so the moment can't change any more
        self._listing: Listing | None = None
        self._version = store.begin(connection)

    @property
    def version(self) -> Hashable:
        self._used = True
        return self._version

    @property
    def settings(self) -> Settings:
        self._used = True
        return self._settings

    @cached_property
    def _settings(self) -> Settings:
        return read_settings(self._connection)

    # ------------------------------------------------------------------ documents and pages

    def documents(self) -> Sequence[DocumentEntry]:
        return self._listed().entries

    def pages(self) -> Sequence[PageName]:
        listing = self._listed()
        return [listing.name_of(place) for place in range(len(listing))]

    def page(self, document: str, number: int) -> StoredPage | None:
        where = "d.path = ? AND p.number = ? AND d.incoming = 0"
        return self._read(lambda: self._page(where, document, number))

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        self._used = True
        run = self._connection.execute
        versions = run(
            "SELECT id, sha256, pages, metadata FROM documents WHERE path = ? ORDER BY incoming",
            (document,),
        ).fetchall()
        if not versions:
            return None
        metadata = metadata_of(self._folder, versions[0][3])
        for row, content, pages, _ in versions:
            if content == content_hash:
                numbers = run(
                    "SELECT number, words_from FROM pages WHERE document = ?", (row,)
                ).fetchall()
                there = frozenset(number for number, _ in numbers)
                silent = frozenset(number for number, source in numbers if source == "nowhere")
                whole = len(versions) == 1 and len(there) == pages
                return KnownDocument(True, pages, there, silent, whole, metadata)
        return KnownDocument(False, metadata=metadata)

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        return self._read(lambda: self._page_like(content_hash))

    def stats(self) -> Stats:
        self._used = True
        return measure(self._connection, self._folder)

    def _page(self, where: str, *values: object) -> StoredPage | None:
        row = self._row(where, *values)
        if row is None:
            return None
        rows = self._rows_of(row)
        if len(rows) < row.vectors:
            raise DamagedIndexError(
                f"{row.path}#{row.number}: its vectors are gone; {self._remedy}"
            )
        return row.page(rows, self._settings.codec, self._settings.dim)

    def _page_like(self, content_hash: bytes) -> StoredPage | None:
        """A page whose bytes are not as they were written is not handed on."""
        row = self._row("p.content = ?", content_hash)
        if row is None:
            return None
        rows = np.array(self._rows_of(row))
        if row.checksum_of(rows, row.map) != row.checksum:
            return None
        return row.page(rows, self._settings.codec, self._settings.dim)

    def _rows_of(self, row: PageRow) -> Rows:
        needed = row.start + row.vectors
        mapped = None if self._listing is None else self._listing.rows.get(row.segment)
        if mapped is None or len(mapped) < needed:
            mapped = self._store.mapped(row.segment, needed, self._settings.row_bytes)
        return row.rows_in(mapped)

    def _row(self, where: str, *values: object) -> PageRow | None:
        values = self._connection.execute(f"{PAGE_ROWS} WHERE {where} LIMIT 1", values).fetchone()
        if values is None:
            return None
        row = PageRow._make(values)
        if not row.is_sound:
            raise DamagedIndexError(f"a page of {self._folder} is damaged; {self._remedy}")
        return row

    # ------------------------------------------------------------------ search

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
    ) -> list[list[RankedPage]]:
        listing = self._listed()
        chosen = listing.chosen(which)
        candidates = None if among is None else [listing.placed(pages) for pages in among]
        if candidates is not None:
            chosen &= np.any(candidates, axis=0) if candidates else False
        try:
            scores = listing.scores(queries, chosen)
        except ScoringError:
            self._check_numbers(listing)
            raise
        if candidates is not None:
            scores[~np.array(candidates)] = -np.inf
        return [best_pages(row, k, listing.name_of) for row in scores]

    def _check_numbers(self, listing: Listing) -> None:
        """Damaged rows may hold NaN or infinity, with which nothing can be scored."""
        for place in range(len(listing)):
            page = self.page(*listing.name_of(place))
            if page is not None and not np.isfinite(page.vectors.decode()).all():
                where = f"{page.document}#{page.number}"
                raise DamagedIndexError(f"{where} is damaged; {self._remedy}")

    # ------------------------------------------------------------------ the moment

    def _listed(self) -> Listing:
        if self._listing is None:
            for _ in range(TRIES):
                listing = self._store.listing(self._connection, self._version)
                if listing.complete or self._used or self._store.has_settled_on(listing):
                    break
                self._begin_again()
            self._listing, self._used = listing, True
            if self._store.settle_on(listing) and listing.lost:
                warnings.warn(
                    f"{listing.lost} pages of {self._folder} can't be searched, their vectors are "
                    f"gone; {self._remedy}",
                    DamageWarning,
                    stacklevel=4,
                )
        return self._listing

    def _read(self, work: Callable[[], T]) -> T:
        for _ in range(TRIES):
            try:
                result = work()
            except FileNotFoundError as error:
                missing = error
                if self._used:
                    break
                self._begin_again()
            else:
                self._used = True
                return result
        raise DamagedIndexError(f"{missing.filename} is gone; {self._remedy}") from missing

    def _begin_again(self) -> None:
        self._connection.rollback()
        self.__dict__.pop("_settings", None)
        self._version = self._store.begin(self._connection)

    @property
    def _remedy(self) -> str:
        return f"run: docpruner verify {self._folder}"
