"""What a change makes of the documents and pages that there are, before anything is written."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from docpruner.stores.lance_store.lance_listing import FragmentRows, Listing
from docpruner.stores.lance_store.lance_rows import DocumentRow
from docpruner.stores.records import DocumentRecord, StoredPage


class Draft:
    """What is to become of the documents and pages of a listing."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.changed: dict[int, DocumentRow] = {}  # new ones too
        self.dropped: set[int] = set()  # with their pages
        self.pages: dict[tuple[int, int], StoredPage] = {}  # by document and number
        self.places: set[int] = set()  # of other pages that go

    def versions(self, name: str) -> list[DocumentRow]:
        """Of a document, the one that can be searched first."""
        old = {each.id: each for each in self.listing.by_name.get(name, ())}
        rows = {**old, **self.changed}.values()
        own = (row for row in rows if row.name == name and row.id not in self.dropped)
        return sorted(own, key=lambda row: row.incoming)

    def change(self, row: DocumentRow) -> None:
        self.changed[row.id] = row
        if self.listing.by_id.get(row.id) == row:
            del self.changed[row.id]

    def drop(self, document: int) -> None:
        self.dropped.add(document)
        self.changed.pop(document, None)
        self.pages = {key: page for key, page in self.pages.items() if key[0] != document}

    def deletions(self) -> dict[int, list[int]]:
        """The rows of the listing that go, by fragment."""
        gone = self.dropped | self.changed.keys()
        by_fragment: dict[int, list[int]] = {}
        for rows in self.listing.of_documents:
            places = [n for n, (number, *_) in enumerate(rows.entries) if number in gone]
            _note(by_fragment, rows, places)
        pages = np.array(sorted({*self.places, *self._replaced()}), np.int64)
        for rows, some in self.listing.in_fragments(pages):
            _note(by_fragment, rows, some.tolist())
        return by_fragment

    def _replaced(self) -> Iterator[int]:
        listing = self.listing
        numbers: dict[int, set[int]] = {}
        for document, number in self.pages:
            numbers.setdefault(document, set()).add(number)
        old = sorted(self.dropped | numbers.keys())
        for place in np.flatnonzero(np.isin(listing.document, np.array(old, np.int64))).tolist():
            document = int(listing.document[place])
            if document in self.dropped or int(listing.number[place]) in numbers[document]:
                yield place


def _note(by_fragment: dict[int, list[int]], rows: FragmentRows, places: Sequence[int]) -> None:
    if places:
        by_fragment[rows.fragment.id] = rows.offset[list(places)].tolist()


def version_of(
    draft: Draft, record: DocumentRecord, ids: dict[tuple[str, bytes], int]
) -> DocumentRow:
    """The row that pages of this version belong to; an unfinished one of another goes."""
    versions = draft.versions(record.name)
    for row in versions:
        if row.content == record.content_hash:
            if record.metadata is None:
                return row
            return replace(row, metadata=dict(record.metadata))
    for row in versions:
        if row.incoming:
            draft.drop(row.id)
    metadata = record.metadata
    if metadata is None and versions:
        metadata = versions[0].metadata
    key = (record.name, record.content_hash)
    return DocumentRow(
        id=ids.setdefault(key, secrets.randbits(62)),
        name=record.name,
        content=record.content_hash,
        size=record.bytes,
        pages=record.pages,
        metadata=dict(metadata or {}),
        incoming=bool(versions),
    )
