"""How an index is: what it holds and saves, and whether its bytes are the ones written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np

from docpruner.errors import DamagedIndexError
from docpruner.stores.contract import Progress
from docpruner.stores.folder.catalogue import (
    FORMAT,
    NAME,
    believed,
    changed_documents,
    connect_reader,
    format_of,
    has_its_tables,
    read_settings,
    sqlite_errors,
    transaction,
)
from docpruner.stores.folder.page_row import PLACED, PageRow, fitting, page_rows
from docpruner.stores.folder.segments import mapped_rows, rows_there
from docpruner.stores.folder.text_index import differs, has_fts5, is_there
from docpruner.stores.page_map_bytes import unpack
from docpruner.stores.records import Damage, Stats
from docpruner.stores.totals import summed_up

BYTES_OF_MOVED, BYTES_OF_PLACE = 20, 12  # of a row of the table `moved`, and of its index

GONE = "its vectors are gone: the segment file is shorter than it was"


def measure(connection: sqlite3.Connection, folder: Path) -> Stats:
    """What the catalogue says, as the transaction of a connection sees it."""
    run = connection.execute
    settings = read_settings(connection)
    pages = run(
        fitting(
            connection,
            "SELECT coalesce(v.vectors, p.vectors), p.special, p.patches, p.words_from = 'nowhere' "
            f"FROM {PLACED} JOIN documents d ON d.id = p.document WHERE NOT d.incoming",
        )
    ).fetchall()
    documents, expected = run(
        "SELECT count(*), coalesce(sum(pages), 0) FROM documents WHERE NOT incoming"
    ).fetchone()
    (rows,) = run("SELECT coalesce(sum(rows), 0) FROM segments").fetchone()
    total = f"SELECT coalesce(sum(coalesce(v.vectors, p.vectors)), 0) FROM {PLACED}"
    (live,) = run(fitting(connection, total)).fetchone()
    besides, empty = _besides(connection, folder)
    texts, of_text = _texts(connection)
    with believed(folder):
        vectors, special, patches, silent = np.array(pages, np.int64).reshape(-1, 4).T
    return summed_up(
        settings,
        vectors,
        special,
        patches,
        silent,
        documents=documents,
        expected_pages=expected,
        bytes_on_disk=sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()),
        bytes_reclaimable=(rows - live) * settings.row_bytes,
        bytes_besides=besides,
        bytes_empty=empty,
        pages_with_text=texts,
        bytes_of_text=of_text,
    )


def _texts(connection: sqlite3.Connection) -> tuple[int, int]:
    """Of how many pages there are words, and what these and the index over them take."""
    if format_of(connection) < FORMAT:
        return 0, 0
    run = connection.execute
    pages, size = run("SELECT count(*), coalesce(sum(length(packed)), 0) FROM texts").fetchone()
    if is_there(connection):
        size += sum(
            run(f"SELECT coalesce(sum(length({what})), 0) FROM words_{where}").fetchone()[0]
            for where, what in (("data", "block"), ("docsize", "sz"), ("idx", "term"))
        )
    return int(pages), int(size)


def _besides(connection: sqlite3.Connection, folder: Path) -> tuple[int, int]:
    """What the catalogue takes, and would take without pages; its log is not counted, as it is
    emptied into the catalogue, but what readers share is. Nor is what a rewriting of all pages
    has noted so far: one that was stopped would leave no setting that fits a budget."""
    (page,), (all_pages,), (free,) = (
        connection.execute(f"PRAGMA {what}").fetchone()
        for what in ("page_size", "page_count", "freelist_count")
    )
    (roots,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE rootpage").fetchone()
    shared = folder / f"{NAME}-shm"
    always = shared.stat().st_size if shared.exists() else 0
    blocks = max(all_pages - free - _blocks_of_rewriting(connection, page), roots + 1)
    return always + blocks * page, always + (roots + 1) * page


def _blocks_of_rewriting(connection: sqlite3.Connection, size: int) -> int:
    """Of the table `moved` and of its index, beside one for each; by what their rows take."""
    if format_of(connection) < FORMAT:
        return 0
    rows, maps = connection.execute(
        "SELECT count(*), coalesce(sum(length(map)), 0) FROM moved"
    ).fetchone()
    bytes_of = (maps + rows * BYTES_OF_MOVED, rows * BYTES_OF_PLACE)
    return sum(-(-taken // size) for taken in bytes_of if taken > size)


def damages(folder: Path, progress: Progress | None = None) -> Iterator[tuple[int, Damage]]:
    """Every page that is not as it was written, with its row; a damaged catalogue is a
    DamagedIndexError.

    Reads every byte, in the order in which they lie.
    """
    connection = connect_reader(folder)
    try:
        with sqlite_errors(folder), transaction(connection, "DEFERRED"):
            verdict = _verdict(connection)
            if not has_its_tables(connection):
                verdict = "its tables are not those that were made"
            if verdict != "ok":
                raise DamagedIndexError(
                    f"{folder}: the catalogue is damaged ({verdict.splitlines()[-1]}); restore it "
                    "from a copy, or index the documents again into another folder"
                )
            width = read_settings(connection).row_bytes
            segments = dict(connection.execute("SELECT id, rows FROM segments").fetchall())
            changed = set(changed_documents(connection).values())
            (pages,) = connection.execute("SELECT count(*) FROM pages").fetchone()
            cursor = connection.execute(f"{page_rows(connection)} ORDER BY p.segment, p.start")
            for done, page in enumerate(map(PageRow._make, cursor), 1):
                reason = _reason(folder, page, segments, width)
                if page.path in changed:
                    reason = "the entry of its document has changed"
                if reason and _is_current(folder, page):
                    yield page.id, Damage(str(page.path), page.number, reason)
                if progress is not None:
                    progress(done, pages)
    finally:
        connection.close()


def _verdict(connection: sqlite3.Connection) -> str:
    """SQLite's own, which from version 3.44 on is about the full-text index too: that is derived,
    and looked at by itself."""
    found = [str(line) for (line,) in connection.execute("PRAGMA integrity_check(10)")]
    return next((line for line in found if "FTS5 table main.words" not in line), "ok")


def text_index_is_sound(folder: Path) -> bool:
    """Whether full-text search has all words that are stored, and no others. Where there is no
    FTS5, nobody can tell, or would search."""
    with (
        sqlite_errors(folder),
        closing(connect_reader(folder)) as connection,
        transaction(connection, "DEFERRED"),
    ):
        if format_of(connection) < FORMAT or not has_fts5(connection):
            return True
        if not is_there(connection):
            (texts,) = connection.execute("SELECT count(*) FROM texts").fetchone()
            return not texts
        return not differs(connection)


def _is_current(folder: Path, page: PageRow) -> bool:
    """False if a writer has moved or removed the page since it was read, and its rows with it."""
    connection = connect_reader(folder)
    try:
        now = connection.execute(f"{page_rows(connection)} WHERE p.id = ?", (page.id,)).fetchone()
        return bool(now == page)
    finally:
        connection.close()


def _reason(folder: Path, page: PageRow, segments: Mapping[int, int], width: int) -> str:
    """What is wrong with a page, or nothing."""
    if page.map is None or page.path is None:  # as the outer join gives them
        return "its map or its document is gone from the catalogue"
    if not page.is_sound:
        return "its entry in the catalogue is damaged"
    there = rows_there(folder, page.segment, segments.get(page.segment, 0), width)
    if page.start < 0 or page.start + page.vectors > there:
        return GONE
    try:
        rows = page.rows_in(mapped_rows(folder, page.segment, there, width))
    except FileNotFoundError:  # a moment after it was looked for
        return GONE
    if page.checksum_of(rows, page.map) != page.checksum:
        return "its bytes have changed"
    try:
        unpack(page.map)
    except DamagedIndexError as error:
        return str(error)
    return ""
