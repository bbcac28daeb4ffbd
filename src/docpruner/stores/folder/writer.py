"""The one writer of an index: every change is one SQLite transaction, or did not happen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from docpruner.codecs import Rows
from docpruner.errors import DamagedIndexError, DocPrunerError, IndexWriteError
from docpruner.stores.contract import Progress
from docpruner.stores.folder.catalogue import (
    changed_documents,
    connect_writer,
    read_settings,
    sqlite_errors,
)
from docpruner.stores.folder.first_stage_build import FirstStageBuilder
from docpruner.stores.folder.page_row import PAGE_ROWS, PageRow, document_checksum, page_checksum
from docpruner.stores.folder.rewriting import Rewriting, drafts, drop_drafts, finish, writing
from docpruner.stores.folder.segments import (
    SegmentWriter,
    mapped_rows,
    rows_there,
    segment_path,
)
from docpruner.stores.folder.text_index import keep_up, rebuild, tidy_up
from docpruner.stores.page_map_bytes import pack
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage, Tuning
from docpruner.stores.settings import Settings
from docpruner.types import Metadata

WORTH_VACUUM = 0.1  # of a large catalogue, free: what it takes is another copy of all of it
FEW_BLOCKS = 1 << 14  # of 4 kB, of which a copy is soon made

NEW_PAGE = """INSERT INTO pages (document, number, width, height, content, words_from,
    segment, start, vectors, special, patches, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    RETURNING id"""


class FolderWriter:
    """Changes an index; made by `FolderStore.writer`, which holds the lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection = connect_writer(folder)
        self.settings = read_settings(self._connection)
        self._width = self.settings.row_bytes  # of what is written
        self._segment: SegmentWriter | None = None
        finish(self._folder, self._connection)
        self._reclaim()

    def close(self) -> None:
        if self._segment is not None:
            self._segment.close()
        try:
            # Only tidies up: where there is no room for it, or somebody reads an older state, the
            # log stays, and the next writer does
            with sqlite_errors(self._folder), suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._connection.close()

    # ------------------------------------------------------------------ documents

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        """Store pages of documents; a finished document replaces its older version whole."""
        with self._change():
            for part in batch:
                document = self._document(part.document)
                for page in part.pages:
                    self._insert(document, part.document.name, page)
                if part.finished:
                    self._finish(document, part.document.name)
        self._builder.keep_up()

    @cached_property
    def _builder(self) -> FirstStageBuilder:
        return FirstStageBuilder(self._folder, self._connection, self.settings)

    def update_first_stage(self, *, renew: bool, progress: Progress | None) -> None:
        self._builder.update(renew=renew, progress=progress)

    def tune_first_stage(self, tuning: Tuning) -> None:
        self._builder.tune(tuning)

    def delete(self, documents: Iterable[str]) -> None:
        with self._change():
            self._connection.executemany(
                "DELETE FROM documents WHERE path = ?", [(name,) for name in documents]
            )

    def rename(self, names: Mapping[str, str]) -> None:
        with self._change():
            committed = dict(self._run("SELECT id, rows FROM segments").fetchall())
            for old, new in names.items():
                documents = self._run(
                    "SELECT id, sha256, bytes, pages, metadata FROM documents WHERE path = ?", old
                ).fetchall()
                for document, *entry in documents:
                    self._rename_pages(document, new, committed)
                    self._run(  # whose checksums are over the old name
                        "DELETE FROM moved WHERE page IN (SELECT id FROM pages WHERE document = ?)",
                        document,
                    )
                    self._run(
                        "UPDATE documents SET path = ?, checksum = ? WHERE id = ?",
                        new, document_checksum(new, *entry), document,
                    )  # fmt: skip

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        with self._change():
            for name, values in metadata.items():
                rows = self._run("SELECT id FROM documents WHERE path = ?", name).fetchall()
                for (row,) in rows:
                    self._set_metadata(row, values)

    def delete_pages(self, rows: Iterable[int]) -> None:
        """Their documents stay, unless their own entries are damaged; as they then lack pages, the
        next run encodes those again."""
        with self._change():
            self._connection.executemany("DELETE FROM pages WHERE id = ?", [(row,) for row in rows])
            for document in changed_documents(self._connection):
                self._run("DELETE FROM documents WHERE id = ?", document)
            self._run(  # a version that was on its way in may be the only one left
                "UPDATE documents SET incoming = 0 WHERE incoming AND NOT EXISTS "
                "(SELECT 1 FROM documents d WHERE d.path = documents.path AND NOT d.incoming)"
            )
            rebuild(self._connection)  # damaged texts don't tell what to take out of it

    def _document(self, record: DocumentRecord) -> int:
        """The row that pages of this version belong to."""
        name = record.name
        versions = self._run("SELECT id, sha256 FROM documents WHERE path = ?", name).fetchall()
        for document, sha256 in versions:
            if sha256 == record.content_hash:
                if record.metadata is not None:
                    self._set_metadata(document, record.metadata)
                return int(document)
        self._run("DELETE FROM documents WHERE path = ? AND incoming = 1", name)
        metadata = _as_json(record.metadata or {})
        if versions and record.metadata is None:
            older = "SELECT metadata FROM documents WHERE path = ?"
            (metadata,) = self._run(older, name).fetchone() or (metadata,)
        entry: tuple[bytes, int, int, str] = (
            record.content_hash, record.bytes, record.pages, metadata,
        )  # fmt: skip
        row = self._run(
            "INSERT INTO documents (path, incoming, sha256, mtime_ns, bytes, pages, metadata, "
            "checksum) VALUES (?, (SELECT count(*) FROM documents WHERE path = ?), ?, 0, ?, ?, ?, "
            "?)",
            name, name, *entry, document_checksum(name, *entry),
        )  # fmt: skip
        return int(row.lastrowid or 0)

    def _set_metadata(self, document: int, metadata: Metadata) -> None:
        entry = "SELECT path, sha256, bytes, pages FROM documents WHERE id = ?"
        name, sha256, size, pages = self._run(entry, document).fetchone()
        text = _as_json(metadata)
        self._run(
            "UPDATE documents SET metadata = ?, checksum = ? WHERE id = ?",
            text, document_checksum(name, sha256, size, pages, text), document,
        )  # fmt: skip

    def _rename_pages(self, document: int, new: str, committed: Mapping[int, int]) -> None:
        """Their checksums are over the document's name too. A damaged page keeps a wrong one."""
        ids = self._run("SELECT id FROM pages WHERE document = ?", document).fetchall()
        for (page_id,) in ids:
            page = PageRow._make(self._run(f"{PAGE_ROWS} WHERE p.id = ?", page_id).fetchone())
            if not page.is_sound:
                continue
            rows = page.rows_in(self._mapped(page.segment, committed))
            if page.checksum_of(rows, page.map) == page.checksum:
                checksum = page._replace(path=new).checksum_of(rows, page.map)
                self._run("UPDATE pages SET checksum = ? WHERE id = ?", checksum, page_id)

    def _insert(self, document: int, name: str, page: StoredPage) -> None:
        self._run("DELETE FROM pages WHERE document = ? AND number = ?", document, page.number)
        rows, page_map = page.vectors.rows, pack(page.provenance)
        special, patches = page.special, page.patches
        segment, start = self._append(rows)
        text = page.text.packed
        checksum = page_checksum(
            rows, page_map, name, page.number, page.size, special, patches, text
        )
        (row,) = self._run(
            NEW_PAGE,
            document, page.number, *map(float, page.size), page.content_hash, page.words_from,
            segment, start, len(rows), special, patches, checksum,
        ).fetchone()  # fmt: skip
        self._run("INSERT INTO maps VALUES (?, ?)", row, page_map)
        if text:
            self._run("INSERT INTO texts VALUES (?, ?)", row, text)

    def _finish(self, document: int, path: str) -> None:
        """This version is the one; any other of the same file goes."""
        self._run("DELETE FROM documents WHERE path = ? AND id <> ?", path, document)
        self._run("UPDATE documents SET incoming = 0 WHERE id = ?", document)

    # ------------------------------------------------------------------ all of the index

    def compact(self, progress: Progress | None = None) -> None:
        """Write the pages of segments that hold dead rows into new ones, and drop the old.

        Segment by segment: what is done stays done, whatever happens to the rest.
        """
        drop_drafts(self._folder, self._connection)
        dead = {
            segment: pages
            for segment, rows, live, pages in self._run(
                "SELECT s.id, s.rows, coalesce(sum(p.vectors), 0), count(p.id) FROM segments s "
                "LEFT JOIN pages p ON p.segment = s.id GROUP BY s.id"
            ).fetchall()
            if live < rows
        }
        total, done = sum(dead.values()), 0
        for segment, pages in dead.items():
            told = None if progress is None else _counted_on(progress, done, total)
            self._compact(segment, told)
            done += pages
        with self._change():
            tidy_up(self._connection)
        (free,) = self._run("PRAGMA freelist_count").fetchone()
        (all_of_it,) = self._run("PRAGMA page_count").fetchone()
        if all_of_it < FEW_BLOCKS or free > WORTH_VACUUM * all_of_it:
            self._run("VACUUM")

    def set_budget(self, budget: str) -> None:
        settings = replace(self.settings, budget=budget)
        with self._change():
            self._write_settings(settings)
        self.settings = settings

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        """Replace the vectors and provenance of every page, and the settings, all at once.

        One that was stopped goes on where it was, if the settings are the same.
        """
        codec, dim = self.settings.codec, self.settings.dim

        def changed(row: PageRow, rows: Rows) -> tuple[Rows, bytes]:
            page = row.page(rows, codec, dim)
            new = change(page)
            same = new.provenance is page.provenance
            return new.vectors.rows, row.map if same else pack(new.provenance)

        if self._segment is not None:
            self._segment.close()
            self._segment = None
        rewriting = Rewriting(self._folder, self._connection, self.settings, settings)
        try:
            with sqlite_errors(self._folder):
                rewriting.write(changed, progress)
                rewriting.take_over()
        except BaseException as error:
            if isinstance(error, IndexWriteError):  # it may have taken the room that is missing
                with suppress(OSError, sqlite3.Error, DocPrunerError):
                    drop_drafts(self._folder, self._connection)
            self._forget_uncommitted()
            raise
        self.settings, self._width = settings, settings.row_bytes
        self.__dict__.pop("_builder", None)
        self._reclaim()

    def _compact(self, segment: int, progress: Progress | None) -> None:
        """Write the pages of a segment elsewhere, and drop it."""
        with self._change():
            pages = self._run(
                "SELECT id FROM pages WHERE segment = ? ORDER BY start", segment
            ).fetchall()
            committed = dict(self._run("SELECT id, rows FROM segments").fetchall())
            self._close_segment()
            if max(committed, default=0) == segment:
                self._begin_segment()  # else the last one is gone on in
            for done, (page_id,) in enumerate(pages, 1):
                page = PageRow._make(self._run(f"{PAGE_ROWS} WHERE p.id = ?", page_id).fetchone())
                if not page.is_sound:
                    raise self._damaged(page)
                self._move_page(page, self._mapped(page.segment, committed))
                if progress is not None:
                    progress(done, len(pages))
            self._run("DELETE FROM segments WHERE id = ?", segment)
            self._run("DELETE FROM removed WHERE segment = ?", segment)
        self.__dict__.pop("_builder", None)
        self._reclaim()

    def _write_settings(self, settings: Settings) -> None:
        self._run("DELETE FROM settings")  # also those that no longer say anything
        self._connection.executemany("INSERT INTO settings VALUES (?, ?)", settings.as_rows())

    def _move_page(self, page: PageRow, segment: Rows) -> None:
        rows = page.rows_in(segment)
        if len(rows) < page.vectors or page.checksum_of(rows, page.map) != page.checksum:
            raise self._damaged(page)
        new_segment, start = self._append(rows)
        self._run(
            "UPDATE pages SET segment = ?, start = ? WHERE id = ?", new_segment, start, page.id
        )

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
        self._segment = self._segment or self._last_segment()
        if self._segment is None or self._segment.full:
            self._segment = self._begin_segment()
        return self._segment.segment, self._segment.append(rows)

    def _last_segment(self) -> SegmentWriter | None:
        """The last one to go on in, unless its file is shorter than what was committed."""
        last = self._run("SELECT id, rows FROM segments ORDER BY id DESC LIMIT 1").fetchone()
        if last is None:
            return None
        segment, rows = last
        if rows_there(self._folder, segment, rows, self._width) < rows:
            return None
        return SegmentWriter(self._folder, segment, rows, self._width)

    def _begin_segment(self) -> SegmentWriter:
        self._close_segment()
        (segment,) = self._run("INSERT INTO segments (rows) VALUES (0) RETURNING id").fetchone()
        self._segment = SegmentWriter(self._folder, segment, 0, self._width)
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
        width = self.settings.row_bytes
        committed = self._run("SELECT id, rows FROM segments").fetchall()
        sizes = [(segment, rows * width) for segment, rows in committed]
        sizes += [(s, rows * draft.row_bytes) for s, rows, draft in drafts(self._connection)]
        known = {segment_path(self._folder, segment).name: size for segment, size in sizes}
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
            with writing(self._folder, self._connection):
                yield
                self._sync_segment()
                keep_up(self._connection)
        except BaseException:
            self._forget_uncommitted()
            raise
        finally:
            self._source = None

    def _forget_uncommitted(self) -> None:
        self._width = self.settings.row_bytes
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        with suppress(OSError, sqlite3.Error, DocPrunerError):  # then the next writer will
            self._reclaim()

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        with sqlite_errors(self._folder):
            return self._connection.execute(statement, values)


def _as_json(metadata: Metadata) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)


def _counted_on(progress: Progress, done: int, total: int) -> Progress:
    return lambda more, _: progress(done + more, total)
