"""The one writer of an index: every change is one SQLite transaction, or did not happen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from docpruner.codecs import Rows
from docpruner.errors import DamagedIndexError, DocPrunerError, IndexStateError
from docpruner.index.catalogue import (
    changed_documents,
    connect_writer,
    read_settings,
    sqlite_errors,
    transaction,
)
from docpruner.index.records import (
    PAGE_ROWS,
    DocumentPages,
    FileRecord,
    PageRecord,
    PageRow,
    document_checksum,
)
from docpruner.index.segments import SegmentWriter, mapped_rows, rows_there, segment_path
from docpruner.index.settings import Settings

Progress = Callable[[int, int], None]  # done, of how many
Change = Callable[[PageRow, Rows], tuple[Rows, bytes]]  # to the new rows and the new map

NEW_PAGE = """INSERT INTO pages (document, number, width, height, content, words_from,
    segment, start, vectors, special, patches, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING id"""


class Writer:
    """Changes an index; made by `PageStore.writer`, which holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection = connect_writer(folder)
        self.settings = read_settings(self._connection)
        self._segment: SegmentWriter | None = None
        self._reclaim()

    def close(self) -> None:
        if self._segment is not None:
            self._segment.close()
        try:
            # Only tidies up: where there is no room for it, the log stays, and the next writer does
            with sqlite_errors(self._folder), suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._connection.close()

    # ------------------------------------------------------------------ documents

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        """Store pages of documents; a finished document replaces its older version whole."""
        with self._change():
            for part in batch:
                document = self._document(part.file)
                for page in part.pages:
                    self._insert(document, part.file.path, page)
                if part.finished:
                    self._finish(document, part.file.path)

    def delete_documents(self, paths: Iterable[str]) -> None:
        with self._change():
            self._connection.executemany(
                "DELETE FROM documents WHERE path = ?", [(path,) for path in paths]
            )

    def delete_pages(self, ids: Iterable[int]) -> None:
        """Their documents stay, unless their own entries are damaged; as they then lack pages, the
        next run encodes those again."""
        with self._change():
            self._connection.executemany("DELETE FROM pages WHERE id = ?", [(id_,) for id_ in ids])
            for document in changed_documents(self._connection):
                self._run("DELETE FROM documents WHERE id = ?", document)

    def _document(self, file: FileRecord) -> int:
        """The row that pages of this version belong to."""
        path = file.path
        found = self._run(
            "SELECT id, sha256, bytes, pages FROM documents WHERE path = ?", path
        ).fetchall()
        for document, sha256, size, pages in found:
            if sha256 == file.sha256:
                self._run("UPDATE documents SET mtime_ns = ? WHERE id = ?", file.mtime_ns, document)
                if file.metadata is not None:
                    told = json.dumps(dict(file.metadata), ensure_ascii=False)
                    self._run(
                        "UPDATE documents SET metadata = ?, checksum = ? WHERE id = ?",
                        told, document_checksum(path, sha256, size, pages, told), document,
                    )  # fmt: skip
                return int(document)
        self._run("DELETE FROM documents WHERE path = ? AND incoming = 1", path)
        metadata = json.dumps(dict(file.metadata or {}), ensure_ascii=False)
        if found and file.metadata is None:
            older = "SELECT metadata FROM documents WHERE path = ?"
            (metadata,) = self._run(older, path).fetchone() or (metadata,)
        row = self._run(
            "INSERT INTO documents (path, incoming, sha256, mtime_ns, bytes, pages, metadata, "
            "checksum) VALUES (?, (SELECT count(*) FROM documents WHERE path = ?), ?, ?, ?, ?, ?, "
            "?)",
            path, path, file.sha256, file.mtime_ns, file.bytes, file.pages, metadata,
            document_checksum(path, file.sha256, file.bytes, file.pages, metadata),
        )  # fmt: skip
        return int(row.lastrowid or 0)

    def _insert(self, document: int, path: str, page: PageRecord) -> None:
        self._run("DELETE FROM pages WHERE document = ? AND number = ?", document, page.number)
        segment, start = self._append(page.rows)
        (row,) = self._run(
            NEW_PAGE,
            document, page.number, *page.size, page.content, page.words_from, segment, start,
            len(page.rows), page.special, page.patches, page.checksum(path),
        ).fetchone()  # fmt: skip
        self._run("INSERT INTO maps VALUES (?, ?)", row, page.map)

    def _finish(self, document: int, path: str) -> None:
        """This version is the one; any other of the same file goes."""
        self._run("DELETE FROM documents WHERE path = ? AND id <> ?", path, document)
        self._run("UPDATE documents SET incoming = 0 WHERE id = ?", document)

    # ------------------------------------------------------------------ all of the index

    def compact(self, progress: Progress | None = None) -> None:
        """Write the pages of segments that hold dead rows into new ones, and drop the old."""
        dead = [
            segment
            for segment, rows, live in self._run(
                "SELECT s.id, s.rows, (SELECT coalesce(sum(vectors), 0) FROM pages "
                "WHERE segment = s.id) FROM segments s"
            ).fetchall()
            if live < rows
        ]
        if dead:
            self._rewrite(dead, lambda page, rows: (rows, page.map), self.settings, progress)
        with sqlite_errors(self._folder):
            self._connection.execute("VACUUM")

    def transform(
        self,
        change: Change,
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        """Replace the rows and the map of every page, and the settings, at once."""
        segments = [segment for (segment,) in self._run("SELECT id FROM segments")]
        self._rewrite(segments, change, settings, progress)

    def _rewrite(
        self,
        segments: Sequence[int],
        change: Change,
        settings: Settings,
        progress: Progress | None,
    ) -> None:
        listed = ", ".join(map(str, segments))
        with self._change():
            pages = self._run(
                f"SELECT id FROM pages WHERE segment IN ({listed}) ORDER BY segment, start"
            ).fetchall()
            committed = dict(self._run("SELECT id, rows FROM segments").fetchall())
            self._begin_segment()
            for done, (page_id,) in enumerate(pages, 1):
                found = self._run(f"{PAGE_ROWS} WHERE p.id = ?", page_id).fetchone()
                page = PageRow._make(found)
                if not page.is_sound:
                    raise self._damaged(page)
                self._rewrite_page(page, self._mapped(page.segment, committed), change)
                if progress is not None:
                    progress(done, len(pages))
            self._run(f"DELETE FROM segments WHERE id IN ({listed})")
            self._connection.executemany("REPLACE INTO settings VALUES (?, ?)", settings.as_rows())
        self.settings = settings
        self._reclaim()

    def _rewrite_page(self, page: PageRow, segment: Rows, change: Change) -> None:
        rows = page.rows_in(segment)
        if len(rows) < page.vectors or page.checksum_of(rows, page.map) != page.checksum:
            raise self._damaged(page)
        new_rows, new_map = change(page, rows)
        new_segment, start = self._append(new_rows)
        self._run(
            "UPDATE pages SET segment = ?, start = ?, vectors = ?, checksum = ? WHERE id = ?",
            new_segment, start, len(new_rows), page.checksum_of(new_rows, new_map), page.id,
        )  # fmt: skip
        if new_map is not page.map:
            self._run("UPDATE maps SET map = ? WHERE page = ?", new_map, page.id)

    def _damaged(self, page: PageRow) -> DamagedIndexError:
        return DamagedIndexError(
            f"{page.path}#{page.number} is damaged; run: docpruner verify {self._folder}"
        )

    def _mapped(self, segment: int, committed: Mapping[int, int]) -> Rows:
        if self._source is None or self._source[0] != segment:
            width = self.settings.row_bytes
            there = rows_there(self._folder, segment, committed[segment], width)
            self._source = (segment, mapped_rows(self._folder, segment, there, width))
        return self._source[1]

    _source: tuple[int, Rows] | None = None  # the segment that is being rewritten

    # ------------------------------------------------------------------ rows on disk

    def _append(self, rows: Rows) -> tuple[int, int]:
        segment = self._segment or self._last_segment()
        if segment is None or segment.full:
            segment = self._begin_segment()
        self._segment = segment
        return segment.segment, segment.append(rows)

    def _last_segment(self) -> SegmentWriter | None:
        """The last one to go on in, unless its file is shorter than what was committed."""
        last = self._run("SELECT id, rows FROM segments ORDER BY id DESC LIMIT 1").fetchone()
        if last is None:
            return None
        (segment, rows), width = last, self.settings.row_bytes
        if rows_there(self._folder, segment, rows, width) < rows:
            return None
        return SegmentWriter(self._folder, segment, rows, width)

    def _begin_segment(self) -> SegmentWriter:
        self._close_segment()
        (segment,) = self._run("INSERT INTO segments (rows) VALUES (0) RETURNING id").fetchone()
        self._segment = SegmentWriter(self._folder, segment, 0, self.settings.row_bytes)
        return self._segment

    def _close_segment(self) -> None:
        if self._segment is not None:
            self._sync_segment()
            self._segment.close()
            self._segment = None

    def _sync_segment(self) -> None:
        if self._segment is not None:
            self._segment.sync()
            rows, segment = self._segment.rows, self._segment.segment
            self._run("UPDATE segments SET rows = ? WHERE id = ?", rows, segment)

    def _reclaim(self) -> None:
        """Cut off and remove what a writer that was killed has left behind."""
        committed = dict(self._run("SELECT id, rows FROM segments").fetchall())
        known = {
            segment_path(self._folder, segment).name: rows * self.settings.row_bytes
            for segment, rows in committed.items()
        }
        for path in (self._folder / "segments").glob("*.rows"):
            if path.name not in known:
                path.unlink()
            elif path.stat().st_size > known[path.name]:
                with path.open("r+b") as file:
                    file.truncate(known[path.name])

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One transaction. Rows are on the disk before it is committed; if it fails, they go."""
        try:
            with sqlite_errors(self._folder), transaction(self._connection):
                yield
                self._sync_segment()
        except BaseException as error:
            self._forget_uncommitted()
            if isinstance(error, OSError):
                raise IndexStateError(
                    f"{self._folder} can't be written ({error.strerror}). What was committed "
                    "before is safe; make room and run again"
                ) from error
            raise
        finally:
            self._source = None

    def _forget_uncommitted(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        with suppress(OSError, sqlite3.Error, DocPrunerError):  # then the next writer will
            self._reclaim()

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        with sqlite_errors(self._folder):
            return self._connection.execute(statement, values)
