"""All pages of an index with other vectors: written beside the old ones, then taken for them.

Pages are rewritten some at a time, each batch in a transaction of its own, into segments that no
reader knows; `moved` says where each page will be. When all are there, one small transaction makes
the new segments and settings those of the index: a page then lies where `moved` says. That is
written into the pages themselves afterwards, again some at a time, by this writer or the next. So
memory and SQLite's log stay small, readers see the old or the new, whole, and a rewriting that was
stopped goes on where it was if it is asked for again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docpruner.codecs import Rows
from docpruner.errors import DamagedIndexError, IndexWriteError
from docpruner.stores.contract import Progress
from docpruner.stores.folder.catalogue import sqlite_errors, transaction
from docpruner.stores.folder.page_row import PAGE_ROWS, PageRow
from docpruner.stores.folder.segments import (
    SegmentWriter,
    mapped_rows,
    rows_there,
    segment_path,
)
from docpruner.stores.settings import Settings

Change = Callable[[PageRow, Rows], tuple[Rows, bytes]]  # to the new rows and the new map

BATCH = 500  # pages to a transaction

UNMOVED = """SELECT p.id FROM pages p WHERE (p.segment, p.start) > (?, ?)
    AND NOT EXISTS (SELECT 1 FROM moved WHERE page = p.id) ORDER BY p.segment, p.start LIMIT ?"""


class Rewriting:
    """From one setting to another; `source` is what the pages were written with."""

    def __init__(
        self, folder: Path, connection: sqlite3.Connection, source: Settings, target: Settings
    ) -> None:
        self._folder, self._connection = folder, connection
        self._source, self._target = source, target
        self._mapped: tuple[int, Rows] | None = None  # the segment that is being read
        self._segment: SegmentWriter | None = None

    def write(self, change: Change, progress: Progress | None) -> None:
        """Every page that has not been written yet."""
        self._drop_others()
        (total,) = self._run("SELECT count(*) FROM pages").fetchone()
        (done,) = self._run("SELECT count(*) FROM moved").fetchone()
        after = (-1, 0)
        try:
            while pages := self._run(UNMOVED, *after, BATCH).fetchall():
                with writing(self._folder, self._connection):
                    for (page,) in pages:
                        after = self._write_page(page, change)
                        done += 1
                        if progress is not None:
                            progress(done, total)
                    self._sync()
        finally:
            if self._segment is not None:
                self._segment.close()

    def take_over(self) -> None:
        """Let all that was written be the index, with its settings."""
        self._run("PRAGMA foreign_keys = OFF")  # pages name the old segments for a moment longer
        try:
            with writing(self._folder, self._connection):
                self._run("DELETE FROM segments")
                self._run("INSERT INTO segments SELECT id, rows FROM moved_segments")
                self._run("DELETE FROM moved_segments")
                self._run("DELETE FROM removed")
                self._run("DELETE FROM settings")
                self._connection.executemany(
                    "INSERT INTO settings VALUES (?, ?)", self._target.as_rows()
                )
        finally:
            self._run("PRAGMA foreign_keys = ON")
        finish(self._folder, self._connection)

    def _drop_others(self) -> None:
        """What was written for another setting is of no use."""
        if any(settings != self._target for _, _, settings in drafts(self._connection)):
            drop_drafts(self._folder, self._connection)

    def _write_page(self, page_id: int, change: Change) -> tuple[int, int]:
        """Returns where it lay."""
        page = PageRow._make(self._run(f"{PAGE_ROWS} WHERE p.id = ?", page_id).fetchone())
        rows = page.rows_in(self._rows_of(page.segment)) if page.is_sound else None
        if rows is None or page.checksum_of(rows, page.map) != page.checksum:
            raise DamagedIndexError(
                f"{page.path}#{page.number} is damaged; run: docpruner verify {self._folder}"
            )
        new_rows, new_map = change(page, rows)
        segment = self._room()
        start = segment.append(new_rows)
        self._run(
            "INSERT INTO moved VALUES (?, ?, ?, ?, ?, ?)",
            page.id, segment.segment, start, len(new_rows), page.checksum_of(new_rows, new_map),
            None if new_map is page.map else new_map,
        )  # fmt: skip
        return page.segment, page.start

    def _rows_of(self, segment: int) -> Rows:
        if self._mapped is None or self._mapped[0] != segment:
            found = self._run("SELECT rows FROM segments WHERE id = ?", segment).fetchone()
            width, committed = self._source.row_bytes, found[0] if found else 0
            there = rows_there(self._folder, segment, committed, width)
            self._mapped = (segment, mapped_rows(self._folder, segment, there, width))
        return self._mapped[1]

    # ------------------------------------------------------------------ new segments

    def _room(self) -> SegmentWriter:
        if self._segment is None:
            self._segment = self._last()
        if self._segment is None or self._segment.full:
            self._sync()
            self._segment = self._begun()
        return self._segment

    def _last(self) -> SegmentWriter | None:
        """The one that an earlier run has stopped in, if its file is as it was."""
        width = self._target.row_bytes
        for segment, rows, _ in drafts(self._connection)[-1:]:
            if rows_there(self._folder, segment, rows, width) == rows:
                return SegmentWriter(self._folder, segment, rows, width)
        return None

    def _begun(self) -> SegmentWriter:
        if self._segment is not None:
            self._segment.close()
        # For its number alone, which no segment has had before
        (segment,) = self._run("INSERT INTO segments (rows) VALUES (0) RETURNING id").fetchone()
        self._run("DELETE FROM segments WHERE id = ?", segment)
        settings = json.dumps(self._target.as_rows())
        self._run("INSERT INTO moved_segments VALUES (?, 0, ?)", segment, settings)
        return SegmentWriter(self._folder, segment, 0, self._target.row_bytes)

    def _sync(self) -> None:
        if self._segment is not None:
            self._segment.sync()
            rows, segment = self._segment.rows, self._segment.segment
            self._run("UPDATE moved_segments SET rows = ? WHERE id = ?", rows, segment)

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)


def finish(folder: Path, connection: sqlite3.Connection) -> None:
    """Write into the pages where they have moved to, after `take_over`, also of another writer."""
    live = "SELECT page FROM moved WHERE segment IN (SELECT id FROM segments) LIMIT ?"
    while pages := connection.execute(live, (BATCH,)).fetchall():
        with writing(folder, connection):
            connection.executemany(
                "UPDATE pages SET (segment, start, vectors, checksum) = (SELECT segment, start, "
                "vectors, checksum FROM moved WHERE page = pages.id) WHERE id = ?",
                pages,
            )
            connection.executemany(
                "UPDATE maps SET map = coalesce((SELECT map FROM moved WHERE page = maps.page), "
                "map) WHERE page = ? AND page IN (SELECT page FROM moved WHERE map IS NOT NULL)",
                pages,
            )
            connection.executemany("DELETE FROM moved WHERE page = ?", pages)


def drafts(connection: sqlite3.Connection) -> list[tuple[int, int, Settings]]:
    """The segments of a rewriting that is not finished: their numbers, rows, and settings."""
    rows = connection.execute("SELECT id, rows, settings FROM moved_segments ORDER BY id")
    return [
        (segment, count, Settings.from_rows([(key, value) for key, value in json.loads(settings)]))
        for segment, count, settings in rows.fetchall()
    ]


def drop_drafts(folder: Path, connection: sqlite3.Connection) -> None:
    """Give up a rewriting that is not finished, and the room it has taken."""
    left = drafts(connection)
    if not left:
        return
    with writing(folder, connection):
        connection.execute("DELETE FROM moved")
        connection.execute("DELETE FROM moved_segments")
    for segment, _, _ in left:
        segment_path(folder, segment).unlink(missing_ok=True)


@contextmanager
def writing(folder: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction; a full disk is told as such."""
    try:
        with sqlite_errors(folder), transaction(connection):
            yield
    except OSError as error:
        raise IndexWriteError(
            f"{folder} can't be written ({error.strerror}). What was committed before is safe; "
            "make room and run again"
        ) from error
