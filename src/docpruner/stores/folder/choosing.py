"""The pages that a filter allows, found by the catalogue's indexes."""

from __future__ import annotations

import glob
import json
import sqlite3
from collections.abc import Iterable
from unicodedata import normalize

import numpy as np

from docpruner.stores.folder.catalogue import BASENAME, is_incremental
from docpruner.stores.folder.listing import Listing
from docpruner.types import BoolArray, Filter, as_text

LARGEST = (1 << 63) - 1  # number that SQLite knows


def chosen_pages(
    connection: sqlite3.Connection, listing: Listing, which: Filter
) -> dict[int, BoolArray]:
    """Those of each segment that can be searched and that a filter allows."""
    chosen = dict(listing.searchable)
    if which.documents or which.metadata:
        allowed = np.array(sorted(_allowed(connection, which)), np.int64)
        for segment, pages in listing.segments.items():
            chosen[segment] = chosen[segment] & np.isin(pages.document, allowed)
    if which.pages is not None:
        first, last = which.pages
        for segment, pages in listing.segments.items():
            chosen[segment] = chosen[segment] & (pages.number >= first)
            if last is not None:
                chosen[segment] &= pages.number <= last
    return chosen


def allowing(connection: sqlite3.Connection, which: Filter) -> tuple[str, list[str | int]]:
    """A filter as a condition on a page `p` of a document `d`."""
    condition = ""
    values: list[str | int] = []
    if which.documents or which.metadata:
        condition += "AND d.id IN (SELECT value FROM json_each(?)) "
        values.append(json.dumps(sorted(_allowed(connection, which))))
    if which.pages is not None:
        first, last = which.pages
        condition += "AND p.number BETWEEN ? AND ? "
        values += [first, LARGEST if last is None else last]
    return condition, values


def _allowed(connection: sqlite3.Connection, which: Filter) -> set[int]:
    """Rows of the documents: a few that may be meant by the indexes, then looked at one by one."""
    where, values = _narrowed(which) if is_incremental(connection) else ("", [])
    rows = connection.execute(
        f"SELECT id, path, metadata FROM documents d WHERE NOT incoming {where}", values
    )
    return {row for row, path, text in rows if which.allows(str(path), json.loads(text))}


def _narrowed(which: Filter) -> tuple[str, list[str]]:
    conditions = ""
    values: list[str] = []
    if which.documents and not any(map(glob.has_magic, which.documents)):
        names = {form for name in which.documents for form in _forms(name.rpartition("/")[2])}
        conditions += f"AND {BASENAME} IN ({', '.join('?' * len(names))}) "
        values += names
    for key, value in (which.metadata or {}).items():
        conditions += (
            "AND id IN (SELECT document FROM metadata WHERE key = ? AND text = ? "
            "UNION ALL SELECT document FROM metadata WHERE key = ? AND text IS NULL) "
        )
        values += [key, as_text(value), key]
    return conditions, values


def _forms(name: str) -> Iterable[str]:
    """As file systems may write it."""
    return name, normalize("NFC", name), normalize("NFD", name)
