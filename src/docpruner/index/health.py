"""How an index is: what it holds and saves, and whether its bytes are the ones written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docpruner.codecs import bytes_per_vector
from docpruner.errors import DamagedIndexError
from docpruner.index.catalogue import (
    believed,
    changed_documents,
    connect_reader,
    has_its_tables,
    read_settings,
    sqlite_errors,
    transaction,
)
from docpruner.index.page_map import unpack
from docpruner.index.records import PAGE_ROWS, PageRow
from docpruner.index.segments import mapped_rows, rows_there
from docpruner.index.settings import Settings
from docpruner.index.writer import Progress
from docpruner.types import FloatArray

GONE = "its vectors are gone: the segment file is shorter than it was"
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Stats:
    """What an index holds, and what it would hold without pruning."""

    settings: Settings
    documents: int
    pages: int
    missing_pages: int  # that the documents have but the index lacks
    pages_without_words: int
    vectors: int
    vectors_unpruned: int
    bytes_on_disk: int
    bytes_of_vectors: int
    bytes_reclaimable: int  # by compaction
    bytes_unpruned_float16: int
    pruned: float  # share of all patches, 0..1
    pruned_by_page: dict[str, float]  # quantiles over pages
    pruned_histogram: list[int]  # pages in ten equal steps from 0 to 1


@dataclass(frozen=True)
class Damage:
    """A page whose bytes are not the ones that were written."""

    page_id: int
    document: str
    page: int
    reason: str


def measure(folder: Path) -> Stats:
    connection = connect_reader(folder)
    try:
        with sqlite_errors(folder), transaction(connection, "DEFERRED"):
            settings = read_settings(connection)
            run = connection.execute
            pages = run(
                "SELECT p.vectors, p.special, p.patches, p.words_from = 'nowhere' FROM pages p "
                "JOIN documents d ON d.id = p.document WHERE NOT d.incoming"
            ).fetchall()
            documents, expected = run(
                "SELECT count(*), coalesce(sum(pages), 0) FROM documents WHERE NOT incoming"
            ).fetchone()
            (rows,) = run("SELECT coalesce(sum(rows), 0) FROM segments").fetchone()
            (live,) = run("SELECT coalesce(sum(vectors), 0) FROM pages").fetchone()
    finally:
        connection.close()
    with believed(folder):
        vectors, special, patches, silent = np.array(pages, np.int64).reshape(-1, 4).T
    kept = vectors - special
    by_page: FloatArray = (1 - kept / np.maximum(patches, 1)).astype(np.float32)
    unpruned = int((patches + special).sum())
    return Stats(
        settings=settings,
        documents=documents,
        pages=len(pages),
        missing_pages=expected - len(pages),
        pages_without_words=int(silent.sum()),
        vectors=int(vectors.sum()),
        vectors_unpruned=unpruned,
        bytes_on_disk=sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()),
        bytes_of_vectors=int(vectors.sum()) * settings.row_bytes,
        bytes_reclaimable=(rows - live) * settings.row_bytes,
        bytes_unpruned_float16=unpruned * bytes_per_vector("float16", settings.dim),
        pruned=float(1 - kept.sum() / patches.sum()) if len(pages) else 0.0,
        pruned_by_page={f"{q:g}": float(np.quantile(by_page, q)) for q in QUANTILES if len(pages)},
        pruned_histogram=np.histogram(by_page, 10, (0, 1))[0].tolist(),
    )


def damages(folder: Path, progress: Progress | None = None) -> Iterator[Damage]:
    """Every page that is not as it was written; a damaged catalogue is a DamagedIndexError.

    Reads every byte, in the order in which they lie.
    """
    connection = connect_reader(folder)
    try:
        with sqlite_errors(folder), transaction(connection, "DEFERRED"):
            (told,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if not has_its_tables(connection):
                told = "its tables are not those that were made"
            if told != "ok":
                raise DamagedIndexError(
                    f"{folder}: the catalogue is damaged ({told.splitlines()[-1]}); restore it "
                    "from a copy, or index the documents again into another folder"
                )
            width = read_settings(connection).row_bytes
            segments = dict(connection.execute("SELECT id, rows FROM segments").fetchall())
            changed = set(changed_documents(connection).values())
            (pages,) = connection.execute("SELECT count(*) FROM pages").fetchone()
            cursor = connection.execute(f"{PAGE_ROWS} ORDER BY p.segment, p.start")
            for done, page in enumerate(map(PageRow._make, cursor), 1):
                reason = _reason(folder, page, segments, width)
                if page.path in changed:
                    reason = "the entry of its document has changed"
                if reason and _is_current(folder, page):
                    yield Damage(page.id, str(page.path), page.number, reason)
                if progress is not None:
                    progress(done, pages)
    finally:
        connection.close()


def _is_current(folder: Path, page: PageRow) -> bool:
    """False if a writer has moved or removed the page since it was read, and its rows with it."""
    connection = connect_reader(folder)
    try:
        found = connection.execute(f"{PAGE_ROWS} WHERE p.id = ?", (page.id,)).fetchone()
        return bool(found == page)
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
