"""How an index is: what it holds and saves, and whether its bytes are the ones written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np

from docpruner.errors import DamagedIndexError
from docpruner.stores.contract import Progress
from docpruner.stores.page_map_bytes import unpack
from docpruner.stores.postgres.page_record import PAGES, PageRecord, document_checksum
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.records import Damage, Stats
from docpruner.stores.settings import Settings
from docpruner.stores.totals import summed_up

AT_ONCE = 100  # pages

EMPTY = 180_224  # bytes of an index without pages
PER_PAGE, PER_DOCUMENT = 200, 600
VECTORS, DETAILS, LEXEMES = 1.1, 1.2, 3.0
"""Bytes in tables and indexes, counted: for each entry, and for each byte of data."""

SIZE = """SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
    WHERE relkind = 'r' AND relnamespace =
        (SELECT relnamespace FROM pg_class WHERE oid = 'state'::regclass)"""
DATA = """SELECT
    (SELECT coalesce(sum(vectors::bigint), 0) FROM pages),
    (SELECT coalesce(sum(octet_length(map) + octet_length(words)), 0) FROM page_details),
    (SELECT coalesce(sum(pg_column_size(lexemes)), 0) FROM page_lexemes),
    (SELECT coalesce(sum(octet_length(name) + octet_length(metadata) * 2), 0) FROM documents)"""


def measure(connection: Connection, settings: Settings) -> Stats:
    run = connection.execute
    pages = run(
        "SELECT p.vectors, p.special, p.patches, (p.words_from = 'nowhere')::int FROM pages p "
        "JOIN documents d ON d.id = p.document WHERE NOT d.incoming"
    ).fetchall()
    ((documents, expected),) = run(
        "SELECT count(*), coalesce(sum(pages), 0)::bigint FROM documents WHERE NOT incoming"
    ).fetchall()
    ((size,),) = run(SIZE).fetchall()
    vectors, special, patches, silent = np.array(pages, np.int64).reshape(-1, 4).T
    besides, empty = _besides(connection, settings, len(pages), documents)
    return summed_up(
        settings,
        vectors,
        special,
        patches,
        silent,
        documents=documents,
        expected_pages=expected,
        bytes_on_disk=size,
        bytes_besides=besides,
        bytes_empty=empty,
    )


def _besides(
    connection: Connection, settings: Settings, pages: int, documents: int
) -> tuple[int, int]:
    """What all but the vectors takes once the room of what was removed is used again, and what an
    index without pages takes. The server can't say the former: it is estimated."""
    ((vectors, details, lexemes, entries),) = connection.execute(DATA).fetchall()
    of_vectors = int(vectors) * settings.row_bytes
    around = pages * PER_PAGE + documents * PER_DOCUMENT + int(entries)
    data = of_vectors * (VECTORS - 1) + int(details) * DETAILS + int(lexemes) * LEXEMES
    return EMPTY + around + round(data), EMPTY


def damages(
    connection: Connection, progress: Progress | None = None
) -> Iterator[tuple[int, Damage]]:
    """Every page that is not as it was written, with its id. Reads every byte."""
    changed = changed_documents(connection)
    ((pages,),) = connection.execute("SELECT count(*) FROM pages").fetchall()
    done = 0
    with closing(connection.cursor("verifying", binary=True)) as cursor:
        cursor.execute(PAGES)
        while some := cursor.fetchmany(AT_ONCE):
            for record in map(PageRecord._make, some):
                reason = _reason(record)
                if record.document in changed:
                    reason = "the entry of its document has changed"
                if reason:
                    yield record.id, Damage(record.name, record.number, reason)
                done += 1
                if progress is not None:
                    progress(done, pages)


def changed_documents(connection: Connection) -> set[int]:
    """Ids of the documents whose entries are not as they were written."""
    rows = connection.execute(
        "SELECT id, checksum, name, content, bytes, pages, metadata FROM documents"
    )
    return {row for row, checksum, *told in rows if document_checksum(*told) != checksum}


def _reason(record: PageRecord) -> str:
    """What is wrong with a page, or nothing."""
    if not record.is_whole:
        return "its bytes have changed"
    try:
        unpack(record.map)
    except DamagedIndexError as error:
        return str(error)
    return ""
