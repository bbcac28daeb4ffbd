"""What a table holds at one version: its documents, and the small columns of its pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docpruner.errors import DamagedIndexError
from docpruner.stores.lance_store.lance_rows import (
    DOCUMENT,
    LISTED,
    SETTINGS,
    DocumentRow,
    settings_of,
)
from docpruner.stores.lance_store.lance_table import Fragment, LanceTable
from docpruner.stores.records import PageName
from docpruner.stores.settings import Settings
from docpruner.types import BoolArray

Numbers = npt.NDArray[np.int64]

READERS = 8  # fragments read at a time, as each waits for its disk or server
NUMBERS = ("document", "number", "vectors", "special", "patches", "text_bytes")


@dataclass(frozen=True, eq=False)
class FragmentRows:
    """The rows of a fragment that are left, in the order in which they lie."""

    fragment: Fragment
    kind: int
    offset: Numbers  # in the file, by which rows are deleted
    entries: Sequence[tuple[int, bytes, str, int]]  # number, content, JSON, checksum: not of pages
    columns: Mapping[str, Numbers]  # NUMBERS, of pages
    silent: BoolArray  # pages without words
    content: pa.Array

    @cached_property
    def by_content(self) -> dict[bytes, int]:
        """The place of a page for each content."""
        return {content: place for place, content in enumerate(self.content.to_pylist())}


class Listing:
    """Everything of one version but vectors, maps and texts. It never changes."""

    def __init__(self, table: LanceTable, fragments: Sequence[FragmentRows]) -> None:
        self.table, self.version = table, table.version
        self.of_documents = [each for each in fragments if each.kind == DOCUMENT]
        self.of_pages = [each for each in fragments if each.kind > DOCUMENT]
        self.of_settings = [each for each in fragments if each.kind == SETTINGS]
        if len(self.of_settings) != 1 or len(self.of_settings[0].entries) != 1:
            raise DamagedIndexError(f"{table.location} has no settings; restore it from a copy")
        self.head = self.of_settings[0].fragment
        self.settings: Settings = settings_of(self.of_settings[0].entries[0][2])
        self.by_name: dict[str, list[DocumentRow]] = {}
        self.by_id: dict[int, DocumentRow] = {}
        for document in self._documents():
            self.by_id[document.id] = document
            self.by_name.setdefault(document.name, []).append(document)
        for versions in self.by_name.values():
            versions.sort(key=lambda each: each.incoming)

    def _documents(self) -> Iterator[DocumentRow]:
        for rows in self.of_documents:
            for number, content, text, _ in rows.entries:
                try:
                    yield DocumentRow.read(number, content, text)
                except (ValueError, KeyError, TypeError) as error:
                    raise DamagedIndexError(
                        f"{self.table.location}: the entry of a document is damaged; restore the "
                        "index from a copy, or index the documents again into another"
                    ) from error

    @property
    def documents(self) -> list[DocumentRow]:
        """Those that can be searched, by name."""
        current = (versions[0] for versions in self.by_name.values())
        return sorted((each for each in current if not each.incoming), key=lambda one: one.name)

    def current(self, name: str) -> DocumentRow | None:
        versions = self.by_name.get(name, [])
        return versions[0] if versions and not versions[0].incoming else None

    # ------------------------------------------------------------------ pages, one after another

    def column(self, name: str) -> Numbers:
        """Of all pages, fragment after fragment, also of those that can't be searched yet."""
        return _joined([each.columns[name] for each in self.of_pages])

    @cached_property
    def document(self) -> Numbers:
        return self.column("document")

    @cached_property
    def number(self) -> Numbers:
        return self.column("number")

    @cached_property
    def starts(self) -> Numbers:
        """Where the pages of each fragment begin, and the end."""
        return np.cumsum([0, *(len(each.offset) for each in self.of_pages)])

    @cached_property
    def silent(self) -> BoolArray:
        return np.concatenate([np.empty(0, np.bool_), *(each.silent for each in self.of_pages)])

    @cached_property
    def searchable(self) -> BoolArray:
        incoming = [each.id for each in self.by_id.values() if each.incoming]
        there = np.array(sorted(self.by_id.keys() - set(incoming)), np.int64)
        return np.isin(self.document, there)

    def pages_of(self, document: int) -> Numbers:
        """The places of its pages."""
        return np.flatnonzero(self.document == document)

    def place_of(self, name: PageName) -> int | None:
        document = self.current(name.document)
        if document is None:
            return None
        found = np.flatnonzero((self.document == document.id) & (self.number == name.number))
        return int(found[0]) if len(found) else None

    def in_fragments(self, places: Numbers) -> Iterator[tuple[FragmentRows, Numbers]]:
        """Places, which are in order, as places of fragments."""
        cuts = np.searchsorted(places, self.starts)
        for rows, first, last, start in zip(
            self.of_pages, cuts[:-1], cuts[1:], self.starts[:-1], strict=True
        ):
            if last > first:
                yield rows, places[first:last] - start

    def names_of(self, places: Sequence[int]) -> list[PageName]:
        some = np.array(places, np.int64)
        documents, numbers = self.document[some].tolist(), self.number[some].tolist()
        return [
            PageName(self.by_id[document].name, number)
            for document, number in zip(documents, numbers, strict=True)
        ]


def listed(table: LanceTable, before: Listing | None) -> Listing:
    """Reads only fragments that are not in the listing before."""
    known: dict[Fragment, FragmentRows] = {}
    if before is not None:
        everything = (*before.of_documents, *before.of_pages, *before.of_settings)
        known = {each.fragment: each for each in everything}
    new = [each for each in table.fragments if each not in known]
    with ThreadPoolExecutor(READERS) as pool:
        known.update(zip(new, pool.map(lambda each: _read(table, each), new), strict=True))
    return Listing(table, [known[each] for each in table.fragments])


def _read(table: LanceTable, fragment: Fragment) -> FragmentRows:
    batches = list(table.scan(LISTED, [fragment], addresses=True))
    rows = pa.Table.from_batches(batches).combine_chunks()
    kinds = set(rows["kind"].to_pylist())
    if len(kinds) != 1 or None in kinds:
        raise DamagedIndexError(f"{table.location}: fragment {fragment.id} is no part of an index")
    (kind,) = kinds
    pages = kind > DOCUMENT
    entries = () if pages else _entries(rows)
    return FragmentRows(
        fragment=fragment,
        kind=kind,
        offset=rows["_rowaddr"].to_numpy().astype(np.int64) & 0xFFFFFFFF,
        entries=entries,
        columns={
            name: rows[name].to_numpy().astype(np.int64) if pages else np.empty(0, np.int64)
            for name in NUMBERS
        },
        silent=np.array([each == "nowhere" for each in rows["words_from"].to_pylist()], np.bool_),
        content=rows["content"].chunk(0),
    )


def _entries(rows: pa.Table) -> list[tuple[int, bytes, str, int]]:
    columns = (rows[name].to_pylist() for name in ("document", "content", "entry", "checksum"))
    return list(zip(*columns, strict=True))


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return np.concatenate([np.empty(0, np.int64), *parts])
