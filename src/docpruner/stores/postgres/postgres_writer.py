"""The one writer of an index: every change is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from docpruner.errors import DamagedIndexError
from docpruner.stores.contract import Progress
from docpruner.stores.page_map_bytes import pack
from docpruner.stores.postgres.document_choice import facts_of
from docpruner.stores.postgres.full_text import insert_lexemes
from docpruner.stores.postgres.page_record import (
    PAGES,
    PageRecord,
    document_checksum,
    page_checksum,
)
from docpruner.stores.postgres.postgres_errors import postgres_errors
from docpruner.stores.postgres.postgres_health import changed_documents
from docpruner.stores.postgres.postgres_location import Address
from docpruner.stores.postgres.postgres_schema import Connection, read_settings, write_settings
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Metadata

AT_ONCE = 100  # pages that are rewritten together

NewPages = dict[tuple[int, int], StoredPage]  # by the row of the document and the number

COPY_PAGES = """COPY pages (id, document, number, width, height, content, words_from, vectors,
    special, patches, checksum, rows) FROM STDIN (FORMAT BINARY)"""
PAGE_TYPES = (
    *("int8", "int8", "int4", "float8", "float8", "bytea", "text", "int4"),
    *("int4", "int4", "int8", "bytea"),
)
COPY_DETAILS = "COPY page_details (page, map, words) FROM STDIN (FORMAT BINARY)"
DETAIL_TYPES = ("int8", "bytea", "bytea")


class PostgresWriter:
    """Changes an index; made by `PostgresStore.writer`, which holds the lock."""

    def __init__(self, address: Address, connection: Connection) -> None:
        self._address, self._connection = address, connection
        self.settings = read_settings(connection)

    # ------------------------------------------------------------------ documents

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        with self._change():
            new: NewPages = {}
            seen: set[str] = set()
            for part in batch:
                name = part.document.name
                if name in seen:  # another version may have to make room for it
                    self._insert(new)
                    new, seen = {}, set()
                seen.add(name)
                document = self._document(part.document)
                new |= {(document, page.number): page for page in part.pages}
                if part.finished:
                    self._finish(document, name)
            self._insert(new)

    def delete(self, documents: Iterable[str]) -> None:
        with self._change():
            self._run("DELETE FROM documents WHERE name = ANY(%s)", list(documents))

    def rename(self, names: Mapping[str, str]) -> None:
        with self._change():
            for old, new in names.items():
                self._change_entries(old, name=new)

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        with self._change():
            for name, values in metadata.items():
                self._change_entries(name, metadata=values)

    def delete_pages(self, ids: Sequence[int]) -> None:
        """Their documents stay, unless their own entries are damaged; as they then lack pages, the
        next run encodes those again."""
        with self._change():
            self._run("DELETE FROM pages WHERE id = ANY(%s)", list(ids))
            damaged = list(changed_documents(self._connection))
            self._run("DELETE FROM documents WHERE id = ANY(%s)", damaged)
            self._run(  # a version that was on its way in may be the only one left
                "UPDATE documents d SET incoming = false WHERE incoming AND NOT EXISTS "
                "(SELECT 1 FROM documents o WHERE o.name = d.name AND NOT o.incoming)"
            )

    def _document(self, record: DocumentRecord) -> int:
        """The row that pages of this version belong to."""
        name = record.name
        versions = self._run(
            "SELECT id, content, metadata FROM documents WHERE name = %s ORDER BY incoming", name
        )
        for document, content, _ in versions:
            if content == record.content_hash:
                if record.metadata is not None:
                    self._change_entries(name, metadata=record.metadata, only=document)
                return int(document)
        if len(versions) > 1:
            self._run("DELETE FROM documents WHERE name = %s AND incoming", name)
        text = _as_json(record.metadata or {})
        if versions and record.metadata is None:
            text = versions[0][2]
        entry = (record.content_hash, record.bytes, record.pages, text)
        ((row,),) = self._run(
            "INSERT INTO documents (name, incoming, content, bytes, pages, metadata, facts, "
            "checksum) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
            name, bool(versions), *entry, _as_json(facts_of(json.loads(text))),
            document_checksum(name, *entry),
        )  # fmt: skip
        return int(row)

    def _finish(self, document: int, name: str) -> None:
        """This version is the one; any other of the same document goes."""
        self._run("DELETE FROM documents WHERE name = %s AND id <> %s", name, document)
        self._run("UPDATE documents SET incoming = false WHERE id = %s AND incoming", document)

    def _change_entries(
        self,
        document: str,
        *,
        name: str | None = None,
        metadata: Metadata | None = None,
        only: int | None = None,
    ) -> None:
        """Give all versions of a document, or one of them, another name or other metadata."""
        rows = self._run(
            "SELECT id, content, bytes, pages, metadata FROM documents WHERE name = %s", document
        )
        for row, content, size, pages, old in rows:
            if only in (None, row):
                text = old if metadata is None else _as_json(metadata)
                new = document if name is None else name
                self._run(
                    "UPDATE documents SET name = %s, metadata = %s, facts = %s, checksum = %s "
                    "WHERE id = %s",
                    new, text, _as_json(facts_of(json.loads(text))),
                    document_checksum(new, content, size, pages, text), row,
                )  # fmt: skip

    # ------------------------------------------------------------------ pages

    def _insert(self, pages: NewPages) -> None:
        """Pages that are there already are replaced."""
        if not pages:
            return
        documents, numbers = [row for row, _ in pages], [number for _, number in pages]
        self._run(
            "DELETE FROM pages p USING unnest(%s::bigint[], %s::bigint[]) AS new (document, number)"
            " WHERE p.document = new.document AND p.number = new.number",
            documents, numbers,
        )  # fmt: skip
        ids = self._run(
            "SELECT nextval(pg_get_serial_sequence('pages', 'id')) FROM generate_series(1, %s)",
            len(pages),
        )
        records = [
            _record(number, document, page)
            for (number,), ((document, _), page) in zip(ids, pages.items(), strict=True)
        ]
        self._copy(
            COPY_PAGES,
            PAGE_TYPES,
            ((r.id, r.document, *r[3:13]) for r in records),
        )
        self._copy(COPY_DETAILS, DETAIL_TYPES, ((r.id, r.map, r.words) for r in records))
        texts = [
            (r.id, p.text.plain) for r, p in zip(records, pages.values(), strict=True) if p.text
        ]
        if texts:
            insert_lexemes(self._connection, texts)

    def _copy(self, statement: str, types: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> None:
        with self._connection.cursor().copy(statement) as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    # ------------------------------------------------------------------ all of the index

    def set_budget(self, budget: str) -> None:
        settings = replace(self.settings, budget=budget)
        with self._change():
            write_settings(self._connection, settings)
        self.settings = settings

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        with self._change():
            ((total,),) = self._run("SELECT count(*) FROM pages")
            done = 0
            with closing(self._connection.cursor("rewriting", binary=True)) as cursor:
                cursor.execute(PAGES)
                while some := cursor.fetchmany(AT_ONCE):
                    for record in map(PageRecord._make, some):
                        self._rewrite_page(record, change)
                        done += 1
                        if progress is not None:
                            progress(done, total)
            write_settings(self._connection, settings)
        self.settings = settings

    def _rewrite_page(self, record: PageRecord, change: Callable[[StoredPage], StoredPage]) -> None:
        if not record.is_whole:
            raise DamagedIndexError(
                f"{record.name}#{record.number} is damaged; run: "
                f"docpruner verify {self._address.location}"
            )
        page = record.page(self.settings)
        changed = change(page)
        new = _record(record.id, record.document, replace(changed, number=page.number))
        self._run(
            "UPDATE pages SET rows = %b, vectors = %s, special = %s, patches = %s, checksum = %s "
            "WHERE id = %s",
            new.rows, new.vectors, new.special, new.patches, new.checksum, record.id,
        )  # fmt: skip
        if new.map != record.map:
            self._run("UPDATE page_details SET map = %b WHERE page = %s", new.map, record.id)

    # ------------------------------------------------------------------ transactions

    @contextmanager
    def _change(self) -> Iterator[None]:
        """One transaction, which counts as one change."""
        with postgres_errors(self._address, writing=True), self._connection.transaction():
            yield
            self._run("UPDATE state SET changes = changes + 1")

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def _record(page_id: int, document: int, page: StoredPage) -> PageRecord:
    """With its checksum; the document's name is not asked for."""
    width, height = map(float, page.size)
    told = (
        document, page.number, width, height, page.content_hash, page.words_from,
        len(page.vectors), page.special, page.patches,
    )  # fmt: skip
    rows, page_map, words = page.vectors.rows.tobytes(), pack(page.provenance), page.text.packed
    checksum = page_checksum(told, rows, page_map, words)
    return PageRecord(page_id, document, "", *told[1:], checksum, rows, page_map, words)


def _as_json(value: Mapping[str, Any]) -> str:
    """In ASCII, so that there is nothing that a database couldn't hold."""
    return json.dumps(dict(value))
