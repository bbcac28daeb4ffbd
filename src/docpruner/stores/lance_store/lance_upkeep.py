"""Whether the bytes of an index are the ones written, and fewer, larger files of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from docpruner.errors import DamagedIndexError
from docpruner.stores.contract import Progress
from docpruner.stores.lance_store.lance_listing import FragmentRows, Listing
from docpruner.stores.lance_store.lance_rows import (
    SCHEMA,
    STORED,
    document_checksum,
    page_checksum,
)
from docpruner.stores.lance_store.lance_table import FRAGMENT_BYTES, Fragment
from docpruner.stores.page_map_bytes import unpack
from docpruner.stores.records import Damage

MANY = 64  # small fragments of a kind, from which on a writer merges them

CHANGED = "its bytes have changed"


def damages(
    listing: Listing, progress: Progress | None = None
) -> Iterator[tuple[int, int, Damage]]:
    """Every page that is not as it was written, with the number of its document and its own."""
    changed = changed_documents(listing)
    done, total = 0, len(listing.document)
    for rows in listing.of_pages:
        for place, reason in enumerate(_reasons(listing, rows)):
            document = int(rows.columns["document"][place])
            number = int(rows.columns["number"][place])
            if document in changed:
                reason = "the entry of its document has changed"
            if reason:
                name = listing.by_id[document].name if document in listing.by_id else "(unknown)"
                yield document, number, Damage(name, number, reason)
            done += 1
            if progress is not None:
                progress(done, total)


def changed_documents(listing: Listing) -> set[int]:
    """The numbers of those whose entries are not as they were written."""
    return {
        number
        for rows in listing.of_documents
        for number, content, entry, checksum in rows.entries
        if document_checksum(number, content, entry) != checksum
    }


def _reasons(listing: Listing, rows: FragmentRows) -> Iterator[str]:
    """What is wrong with each page of a fragment, or nothing."""
    told = 0
    try:
        for batch in listing.table.scan(STORED, [rows.fragment]):
            for row in batch.to_pylist():
                yield _reason(row)
                told += 1
    except DamagedIndexError:  # bytes that Lance itself stumbles over: then one page after another
        for place in range(told, len(rows.offset)):
            try:
                (row,) = listing.table.take(rows.fragment, [place], STORED).to_pylist()
                yield _reason(row)
            except DamagedIndexError as error:
                yield str(error)


def _reason(row: dict[str, Any]) -> str:
    try:
        if page_checksum(row) != row["checksum"]:
            return CHANGED
        unpack(row["map"])
    except TypeError:  # a value that is missing
        return CHANGED
    except DamagedIndexError as error:
        return str(error)
    return ""


def merges(listing: Listing, *, all_of_them: bool) -> Iterator[list[FragmentRows]]:
    """Fragments to be written together, each time as many as one file may hold: those that rows
    were deleted from, and those that are small, if there are many or if `all_of_them` are meant."""
    for kind in (listing.of_documents, listing.of_pages):
        small = [rows for rows in kind if _is_small(rows.fragment)]
        if not all_of_them and len(small) < MANY:
            continue
        if all_of_them:
            small = [rows for rows in kind if _is_small(rows.fragment) or rows.fragment.deletions]
        yield from (group for group in _groups(small) if len(group) > 1 or _is_worn(group))


def _is_small(fragment: Fragment) -> bool:
    return fragment.bytes < FRAGMENT_BYTES // 2


def _is_worn(group: Sequence[FragmentRows]) -> bool:
    return any(rows.fragment.deletions for rows in group)


def _groups(fragments: Sequence[FragmentRows]) -> Iterator[list[FragmentRows]]:
    group: list[FragmentRows] = []
    size = 0
    for rows in fragments:
        if group and size + rows.fragment.bytes > FRAGMENT_BYTES:
            yield group
            group, size = [], 0
        group.append(rows)
        size += rows.fragment.bytes
    if group:
        yield group


def merged(listing: Listing, group: Sequence[FragmentRows]) -> list[Any]:
    """The rows of some fragments in new ones, which are not committed yet."""
    fragments = [rows.fragment for rows in group]
    batches = listing.table.scan(SCHEMA.names, fragments)
    return listing.table.write(pa.Table.from_batches(list(batches), SCHEMA))
