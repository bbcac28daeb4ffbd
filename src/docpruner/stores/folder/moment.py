"""One consistent moment of an index: a read transaction, and the rows that it speaks of."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from docpruner.codecs import Rows
from docpruner.errors import DamagedIndexError, DamageWarning, ScoringError
from docpruner.stores.folder.catalogue import (
    FORMAT,
    believed,
    format_of,
    metadata_of,
    read_settings,
)
from docpruner.stores.folder.choosing import allowing, chosen_pages
from docpruner.stores.folder.health import measure
from docpruner.stores.folder.listing import Listing, placed
from docpruner.stores.folder.page_row import PageRow, page_rows
from docpruner.stores.folder.scoring import scores_of
from docpruner.stores.folder.text_index import ranked
from docpruner.stores.ranking import best_pages
from docpruner.stores.records import (
    DocumentEntry,
    FirstStageState,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.settings import Settings
from docpruner.types import BoolArray, Filter, FloatArray

if TYPE_CHECKING:
    from docpruner.stores.folder.store import FolderStore

T = TypeVar("T")

ENTRIES = "SELECT path, pages, metadata, sha256 FROM documents"
MANY = 1000  # documents from which all names are read rather than some
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
        self._used = True
        rows = self._connection.execute(f"{ENTRIES} WHERE NOT incoming").fetchall()
        return sorted((self._entry(*row) for row in rows), key=lambda entry: entry.name)

    def document(self, name: str) -> DocumentEntry | None:
        self._used = True
        where = "WHERE path = ? AND incoming = 0"
        row = self._connection.execute(f"{ENTRIES} {where}", (name,)).fetchone()
        return None if row is None else self._entry(*row)

    def names(self) -> Sequence[str]:
        self._used = True
        return self._paths("NOT incoming")

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        self._used = True
        return self._paths("sha256 = ? AND NOT incoming", content_hash)

    def _paths(self, where: str, *values: object) -> list[str]:
        rows = self._connection.execute(f"SELECT path FROM documents WHERE {where}", values)
        return sorted(str(path) for (path,) in rows)

    def _entry(self, path: str, pages: int, metadata: str, sha256: bytes) -> DocumentEntry:
        with believed(self._folder):
            return DocumentEntry(str(path), int(pages), dict(json.loads(metadata)), bytes(sha256))

    def pages(self) -> Sequence[PageName]:
        listing = self._listed()
        return self._names(listing.numbered(listing.searchable))

    def _names(self, pages: Sequence[tuple[int, int]]) -> list[PageName]:
        """Of pages given by the rows of their documents, and their numbers."""
        paths: dict[int, str] = {}
        rows = list({document for document, _ in pages})
        run = self._connection.execute
        if len(rows) > MANY:
            paths.update(run("SELECT id, path FROM documents").fetchall())
        else:
            listed = ", ".join(map(str, rows))
            paths.update(run(f"SELECT id, path FROM documents WHERE id IN ({listed})").fetchall())
        if len(rows) > sum(row in paths for row in rows):
            raise DamagedIndexError(f"{self._folder}: a page has no document; {self._remedy}")
        return [PageName(paths[row], number) for row, number in pages]

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
        known = None if self._listing is None else self._listing.segments.get(row.segment)
        mapped = None if known is None else known.rows
        if mapped is None or len(mapped) < needed:
            mapped = self._store.mapped(row.segment, needed, self._settings.row_bytes)
        return row.rows_in(mapped)

    def _row(self, where: str, *values: object) -> PageRow | None:
        values = self._connection.execute(
            f"{page_rows(self._connection)} WHERE {where} LIMIT 1", values
        ).fetchone()
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
        *,
        exact: bool = True,
        candidates: int | None = None,
    ) -> list[list[RankedPage]]:
        listing = self._listed()
        chosen = chosen_pages(self._connection, listing, which)
        stage = listing.first_stage
        if among is not None:
            named = [placed(listing, self._rows_of_documents(pages)) for pages in among]
            masks = [{s: chosen[s] & mask for s, mask in each.items()} for each in named]
        elif exact or stage is None or not stage.helps(listing, chosen, k, candidates):
            if not exact:
                self._store.warn_of_slowness(listing)
            return self._ranked(listing, queries, k, chosen)
        else:
            masks = [stage.choose(listing, query, chosen, k, candidates) for query in queries]
        return [
            self._ranked(listing, [query], k, mask)[0]
            for query, mask in zip(queries, masks, strict=True)
        ]

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        listing = self._listed()
        if format_of(self._connection) < FORMAT:
            return []
        where, values = allowing(self._connection, which)
        limit = -1 if listing.lost else k
        found = ranked(self._connection, self._folder, query, where, values, limit)
        with believed(self._folder):
            pages = [RankedPage(str(path), int(page), float(s)) for path, page, s in found]
        if listing.lost:
            there = set(self.pages())
            pages = [page for page in pages if page.name in there]
        return pages[:k]

    def _ranked(
        self,
        listing: Listing,
        queries: Sequence[FloatArray],
        k: int,
        chosen: Mapping[int, BoolArray],
    ) -> list[list[RankedPage]]:
        try:
            scores = scores_of(listing, queries, chosen)
        except ScoringError:
            self._check_numbers(listing)
            raise
        pages = listing.numbered(chosen)

        def names(places: Sequence[int]) -> list[PageName]:
            return self._names([pages[place] for place in places])

        return [best_pages(row, k, names) for row in scores]

    def _rows_of_documents(self, pages: Collection[PageName]) -> list[tuple[int, int]]:
        rows: dict[str, int] = {}
        for name in {document for document, _ in pages}:
            found = self._connection.execute(
                "SELECT id FROM documents WHERE path = ? AND incoming = 0", (name,)
            ).fetchone()
            if found is not None:
                rows[name] = int(found[0])
        return [(rows[name], number) for name, number in pages if name in rows]

    def _check_numbers(self, listing: Listing) -> None:
        """Damaged rows may hold NaN or infinity, with which nothing can be scored."""
        for name in self._names(listing.numbered(listing.searchable)):
            page = self.page(*name)
            if page is not None and not np.isfinite(page.vectors.decode()).all():
                where = f"{page.document}#{page.number}"
                raise DamagedIndexError(f"{where} is damaged; {self._remedy}")

    def first_stage(self) -> FirstStageState | None:
        listing = self._listed()
        return None if listing.first_stage is None else listing.first_stage.state(listing)

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
