"""One moment of an index: a transaction that reads, whatever is written meanwhile."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Sequence
from functools import cached_property
from typing import Any

from docpruner.errors import DamagedIndexError
from docpruner.stores.postgres.document_choice import Choice, chosen_pages
from docpruner.stores.postgres.full_text import ranked_by_text
from docpruner.stores.postgres.page_record import PAGES, PageRecord
from docpruner.stores.postgres.page_stream import DamagedPageError, Leaders, ranked
from docpruner.stores.postgres.postgres_health import measure
from docpruner.stores.postgres.postgres_location import Address
from docpruner.stores.postgres.postgres_schema import Connection, State, read_settings
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

ENTRIES = "SELECT name, pages, metadata, content FROM documents WHERE NOT incoming"


class PostgresReader:
    """Made by `PostgresStore.reader`, with a connection of its own as long as it is used."""

    def __init__(self, address: Address, connection: Connection, state: State) -> None:
        self._address, self._connection = address, connection
        self._state = state

    @property
    def version(self) -> Hashable:
        return self._state.made, self._state.changes

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self._connection)

    # ------------------------------------------------------------------ documents and pages

    def documents(self) -> Sequence[DocumentEntry]:
        return [_entry(*row) for row in self._run(f"{ENTRIES} ORDER BY name")]

    def document(self, name: str) -> DocumentEntry | None:
        row = next(iter(self._run(f"{ENTRIES} AND name = %s", name)), None)
        return None if row is None else _entry(*row)

    def names(self) -> Sequence[str]:
        rows = self._run("SELECT name FROM documents WHERE NOT incoming ORDER BY name")
        return [name for (name,) in rows]

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        rows = self._run(
            "SELECT name FROM documents WHERE content = %s AND NOT incoming ORDER BY name",
            content_hash,
        )
        return [name for (name,) in rows]

    def pages(self) -> Sequence[PageName]:
        rows = self._run(
            "SELECT d.name, p.number FROM pages p JOIN documents d ON d.id = p.document "
            "WHERE NOT d.incoming"
        )
        return [PageName(name, number) for name, number in rows]

    def page(self, document: str, number: int) -> StoredPage | None:
        where = "d.name = %s AND p.number = %s AND NOT d.incoming"
        record = self._record(where, document, number)
        if record is None:
            return None
        if len(record.rows) != record.vectors * self.settings.row_bytes:
            raise self._damaged(record.name, record.number)
        return record.page(self.settings)

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        """A page whose bytes are not as they were written is not handed on."""
        if not content_hash:
            return None
        record = self._record("p.content = %s AND p.content <> ''", content_hash)
        return record.page(self.settings) if record is not None and record.is_whole else None

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        versions = self._run(
            "SELECT id, content, pages, metadata FROM documents WHERE name = %s ORDER BY incoming",
            document,
        )
        if not versions:
            return None
        metadata = json.loads(versions[0][3])
        for row, content, pages, _ in versions:
            if content == content_hash:
                numbers = self._run("SELECT number, words_from FROM pages WHERE document = %s", row)
                there = frozenset(number for number, _ in numbers)
                silent = frozenset(number for number, source in numbers if source == "nowhere")
                whole = len(versions) == 1 and len(there) == pages
                return KnownDocument(True, pages, there, silent, whole, metadata)
        return KnownDocument(False, metadata=metadata)

    def stats(self) -> Stats:
        return measure(self._connection, self.settings)

    # ------------------------------------------------------------------ search

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,  # noqa: ARG002  # it always is
        candidates: int | None = None,  # noqa: ARG002
    ) -> list[list[RankedPage]]:
        choice = chosen_pages(self._connection, which)
        ids = None
        if among is not None:
            ids = [self._ids(pages) for pages in among]
            every = sorted({page for pages in ids for page in pages})
            choice = Choice(f"{choice.where} AND p.id = ANY(%s)", [*choice.values, every])
        try:
            leaders = ranked(self._connection, self.settings, queries, k, choice, ids)
        except DamagedPageError as error:
            (name,) = self._names_of_pages([error.page])
            raise self._damaged(*name) from None
        return self._named(leaders, k)

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        choice = chosen_pages(self._connection, which)
        return ranked_by_text(self._connection, query, k, choice)

    def _named(self, leaders: Sequence[Leaders], k: int) -> list[list[RankedPage]]:
        documents = {int(row) for best in leaders for row in best.places[:, 1]}
        rows = self._run("SELECT id, name FROM documents WHERE id = ANY(%s)", list(documents))
        names: dict[int, str] = dict(rows)

        def named(best: Leaders) -> list[RankedPage]:
            places = [PageName(names[row], number) for _, row, number in best.places.tolist()]
            return best_pages(best.scores, k, lambda some: [places[place] for place in some])

        return [named(best) for best in leaders]

    def _ids(self, pages: Collection[PageName]) -> list[int]:
        """Of those that are there."""
        rows = self._run(
            "SELECT p.id FROM unnest(%s::text[], %s::bigint[]) AS wanted (name, number) "
            "JOIN documents d ON d.name = wanted.name AND NOT d.incoming "
            "JOIN pages p ON p.document = d.id AND p.number = wanted.number",
            [name for name, _ in pages],
            [number for _, number in pages],
        )
        return [page for (page,) in rows]

    def _names_of_pages(self, ids: Sequence[int]) -> list[PageName]:
        rows = self._run(
            "SELECT d.name, p.number FROM pages p JOIN documents d ON d.id = p.document "
            "WHERE p.id = ANY(%s)",
            list(ids),
        )
        return [PageName(name, number) for name, number in rows]

    def _damaged(self, document: str, number: int) -> DamagedIndexError:
        return DamagedIndexError(
            f"{document}#{number} is damaged; run: docpruner verify {self._address.location}"
        )

    def _record(self, where: str, *values: object) -> PageRecord | None:
        cursor = self._connection.cursor(binary=True)
        row = cursor.execute(f"{PAGES} WHERE {where} LIMIT 1", values).fetchone()
        return None if row is None else PageRecord._make(row)

    def _run(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values or None).fetchall()


def _entry(name: str, pages: int, metadata: str, content: bytes) -> DocumentEntry:
    return DocumentEntry(name, pages, json.loads(metadata), bytes(content))
