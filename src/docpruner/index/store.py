"""An index as its readers see it, and the way to its writer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from filelock import FileLock, Timeout

from docpruner.codecs import Encoded, Rows
from docpruner.errors import DamagedIndexError, IndexStateError, ScoringError
from docpruner.index.catalogue import (
    connect_reader,
    create_catalogue,
    read_settings,
    sqlite_errors,
    transaction,
)
from docpruner.index.listing import list_pages
from docpruner.index.page_map import unpack
from docpruner.index.records import (
    PAGE_ROWS,
    DocumentEntry,
    Known,
    PageRecord,
    PageRow,
    StoredPage,
)
from docpruner.index.segments import mapped_rows
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Filter, Snapshot
from docpruner.index.writer import Progress, Writer
from docpruner.types import FloatArray

T = TypeVar("T")

TRIES = 5  # to read while a writer compacts and removes what is being read


class PageStore:
    """Reads an index: many may, in many processes, also while one writes.

    Opening reads the settings only. Pages are listed at the first search, and again whenever the
    index has changed since.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connection = connect_reader(folder)
        self._lock = threading.RLock()  # one connection, any thread
        self._mapped: dict[int, Rows] = {}
        self._snapshot: Snapshot | None = None
        with sqlite_errors(folder):
            settings = read_settings(self._connection)
        self._codec, self._dim, self._width = settings.codec, settings.dim, settings.row_bytes

    @classmethod
    def create(cls, folder: Path, settings: Settings) -> PageStore:
        create_catalogue(folder, settings)
        return cls(folder)

    def close(self) -> None:
        with self._lock:
            self._mapped.clear()
            self._connection.close()

    def __enter__(self) -> PageStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def writer(self, wait: float = 10.0) -> Iterator[Writer]:
        """The right to change the index, for one process at a time; waits so many seconds."""
        lock = FileLock(self.folder / "writer.lock")
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise IndexStateError(
                f"another process is writing to {self.folder}; it was waited for {wait:g} s: "
                "let it finish, or wait longer"
            ) from None
        except OSError as error:
            raise IndexStateError(
                f"{self.folder} can't be written to ({error.strerror})"
            ) from error
        try:
            writer = Writer(self.folder)
            try:
                yield writer
            finally:
                writer.close()
        finally:
            lock.release()

    @property
    def settings(self) -> Settings:
        return self._read(lambda: read_settings(self._connection))

    # ------------------------------------------------------------------ what is in it

    def documents(self) -> list[DocumentEntry]:
        """The searchable documents, by their paths."""
        return sorted(self.snapshot().documents.values(), key=lambda entry: entry.path)

    def paths(self) -> list[str]:
        """Of all documents, also of those that are still on their way in."""
        statement = "SELECT DISTINCT path FROM documents ORDER BY path"
        return self._read(lambda: [path for (path,) in self._connection.execute(statement)])

    def known(self, path: str, sha256: bytes) -> Known | None:
        """What there is of a file with this content, or None."""
        return self._read(lambda: self._known(path, sha256))

    def has(self, path: str) -> bool:
        """Whether there is any version of a file."""
        statement = "SELECT 1 FROM documents WHERE path = ?"
        return (
            self._read(lambda: self._connection.execute(statement, (path,)).fetchone()) is not None
        )

    def page_like(self, content: bytes) -> PageRecord | None:
        """Any stored page that looks the same to the encoder, as a record to store again."""
        return self._read(lambda: self._page_like(content))

    def page(self, page_id: int) -> StoredPage | None:
        """A page by its id in a snapshot; None if it was removed since."""
        return self._read(lambda: self._stored_page("p.id = ?", page_id))

    def page_of(self, document: str, number: int) -> StoredPage | None:
        """A page by its document's path and its number."""
        where = "d.path = ? AND p.number = ? AND d.incoming = 0"
        return self._read(lambda: self._stored_page(where, document, number))

    def rows(self, progress: Progress | None = None) -> Iterator[tuple[PageRow, Rows]]:
        """Every searchable page with its encoded vectors, in the order in which they lie."""
        snapshot = self.snapshot()
        for done, page_id in enumerate(snapshot.ids.tolist(), 1):
            found = self._read(partial(self._row_with_vectors, "p.id = ?", page_id))
            if found is not None:  # else it was removed just now
                yield found
            if progress is not None:
                progress(done, len(snapshot))

    def _known(self, path: str, sha256: bytes) -> Known | None:
        run = self._connection.execute
        versions = run("SELECT id, sha256, pages FROM documents WHERE path = ?", (path,)).fetchall()
        for document, content, pages in versions:
            if content == sha256:
                numbers = run(
                    "SELECT number, words_from FROM pages WHERE document = ?", (document,)
                ).fetchall()
                there = frozenset(number for number, _ in numbers)
                silent = frozenset(number for number, source in numbers if source == "nowhere")
                return Known(pages, there, silent, len(versions) == 1 and len(there) == pages)
        return None

    def _page_like(self, content: bytes) -> PageRecord | None:
        found = self._row("p.content = ?", content)
        if found is None:
            return None
        rows = np.array(found.rows_in(self._rows(found.segment, found.start + found.vectors)))
        if found.checksum_of(rows, found.map) != found.checksum:
            return None
        size = (found.width, found.height)
        return PageRecord(
            found.number, size, content, found.words_from, rows, found.special, found.patches,
            found.map,
        )  # fmt: skip

    def _stored_page(self, where: str, *values: object) -> StoredPage | None:
        found = self._row_with_vectors(where, *values)
        if found is None:
            return None
        row, rows = found
        encoded = Encoded(self._codec, self._dim, rows)
        size = (row.width, row.height)
        told = (row.path, row.number, size, row.words_from, row.checksum)
        return StoredPage(*told, encoded, unpack(row.map))

    def _row_with_vectors(self, where: str, *values: object) -> tuple[PageRow, Rows] | None:
        found = self._row(where, *values)
        if found is None:
            return None
        rows = found.rows_in(self._rows(found.segment, found.start + found.vectors))
        if len(rows) < found.vectors:
            raise DamagedIndexError(
                f"{found.path}#{found.number}: its vectors are gone; {self._remedy}"
            )
        return found, rows

    def _row(self, where: str, *values: object) -> PageRow | None:
        found = self._connection.execute(f"{PAGE_ROWS} WHERE {where} LIMIT 1", values).fetchone()
        if found is None:
            return None
        row = PageRow._make(found)
        if not row.is_sound:
            raise DamagedIndexError(f"a page of {self.folder} is damaged; {self._remedy}")
        return row

    # ------------------------------------------------------------------ search

    def best_pages(
        self, queries: Sequence[FloatArray], k: int, which: Filter | None = None
    ) -> list[list[tuple[int, float]]]:
        """For each query the ids and scores of its best pages; equals stand by path and number."""
        return self._read(lambda: self._best_pages(queries, k, which or Filter()))

    def _best_pages(
        self, queries: Sequence[FloatArray], k: int, which: Filter
    ) -> list[list[tuple[int, float]]]:
        snapshot = self.snapshot()
        try:
            scores = snapshot.scores(
                queries,
                snapshot.chosen(which),
                lambda segment: self._rows(segment, snapshot.segment_rows[segment]),
                codec=self._codec,
                dim=self._dim,
            )
        except ScoringError:
            self._check_numbers(snapshot)
            raise
        return [snapshot.best(row, k) for row in scores]

    def _check_numbers(self, snapshot: Snapshot) -> None:
        """Damaged rows may hold NaN or infinity, with which nothing can be scored."""
        for page_id in snapshot.ids.tolist():
            page = self._stored_page("p.id = ?", page_id)
            if page is not None and not np.isfinite(page.vectors.decode()).all():
                where = f"{page.document}#{page.number}"
                raise DamagedIndexError(f"{where} is damaged; {self._remedy}")

    def snapshot(self) -> Snapshot:
        """The searchable pages as they are now."""
        with self._lock, sqlite_errors(self.folder):
            version = self._version()
            if self._snapshot is None or self._snapshot.version != version:
                self._snapshot = list_pages(self._connection, self.folder, self._width, version)
                segments = self._snapshot.segment_rows
                self._mapped = {s: rows for s, rows in self._mapped.items() if s in segments}
            return self._snapshot

    def _version(self) -> int:
        """Another one whenever something was committed."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    # ------------------------------------------------------------------ reading

    @property
    def _remedy(self) -> str:
        return f"run: docpruner verify {self.folder}"

    def _rows(self, segment: int, needed: int) -> Rows:
        rows = self._mapped.get(segment)
        if rows is None or len(rows) < needed:
            rows = self._mapped[segment] = mapped_rows(self.folder, segment, needed, self._width)
        return rows

    def at_once(self, work: Callable[[], T]) -> T:
        """Do `work`; all that it reads here is of one moment, whatever is written meanwhile."""
        return self._read(lambda: self._at_once(work))

    def _at_once(self, work: Callable[[], T]) -> T:
        for _ in range(TRIES):
            snapshot = self.snapshot()
            with transaction(self._connection, "DEFERRED"):
                if self._version() == snapshot.version:
                    return work()
        return work()  # on a read-only disk every look may count as a new version

    def _read(self, work: Callable[[], T]) -> T:
        """Do `work`, and again if a writer has removed a segment between its two steps."""
        for _ in range(TRIES):
            with self._lock, sqlite_errors(self.folder):
                if self._connection.in_transaction:  # part of a larger reading, done again whole
                    return work()
                try:
                    return work()
                except FileNotFoundError as error:
                    self._snapshot, gone = None, error
        raise DamagedIndexError(f"{gone.filename} is gone; {self._remedy}") from gone
