"""The documents and pages that a filter allows: SQL finds a few, the filter has the last word."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from docpruner.stores.postgres.postgres_schema import LAST_PART, Connection
from docpruner.types import Filter, JsonValue, Metadata, as_text


class Choice(NamedTuple):
    """A condition on the pages `p` of documents `d`, and its values."""

    where: str
    values: list[Any]


def chosen_pages(connection: Connection, which: Filter) -> Choice:
    where, values = "NOT d.incoming", []
    if which.documents or which.metadata:
        where += " AND p.document = ANY(%s)"
        values.append(_allowed(connection, which))
    if which.pages is not None:
        first, last = which.pages
        where += " AND p.number >= %s"
        values.append(first)
        if last is not None:
            where += " AND p.number <= %s"
            values.append(last)
    return Choice(where, values)


def facts_of(metadata: Metadata) -> dict[str, list[str]]:
    """Every key with the texts of its value, or of all in the lists that it holds."""
    return {_storable(key): sorted(set(_texts(value))) for key, value in metadata.items()}


def _allowed(connection: Connection, which: Filter) -> list[int]:
    where, values = _narrowed(which)
    rows = connection.execute(
        f"SELECT id, name, metadata FROM documents WHERE NOT incoming{where}", values
    )
    return [row for row, name, text in rows if which.allows(name, json.loads(text))]


def _narrowed(which: Filter) -> tuple[str, list[Any]]:
    """A condition that is met by all documents which the filter allows, and by few others."""
    conditions, values = "", []
    patterns = [normalize("NFC", each) for each in which.documents]
    if patterns and not any(map(glob.has_magic, patterns)):
        conditions += f" AND {LAST_PART} = ANY(%s)"
        values.append([each.rpartition("/")[2] for each in patterns])
    elif patterns:
        like = [pattern for each in patterns for pattern in _like(each)]
        conditions += " AND normalize(name, NFC) LIKE ANY(%s)"
        values.append(like)
    asked = {
        _storable(key): [_storable(as_text(value))]
        for key, value in (which.metadata or {}).items()
        if not _is_list(value)  # lists are compared otherwise than as texts
    }
    if asked:
        conditions += " AND facts @> %s::jsonb"
        values.append(json.dumps(asked))
    return conditions, values


def _like(pattern: str) -> Iterator[str]:
    """What a glob means to LIKE, of the whole name or its last parts; and the glob as a name."""
    wide = "".join(_signs(pattern))
    exact = _escaped(pattern)
    for each in (wide, exact):
        yield from (each, f"%/{each}")


def _signs(pattern: str) -> Iterator[str]:
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        place += 1
        if sign == "[":
            # as fnmatch has it: a bracket that comes first is one of those allowed
            begins = place + (pattern[place : place + 1] == "!")
            end = pattern.find("]", begins + 1)
            if end >= 0:
                sign, place = "?", end + 1
        yield {"*": "%", "?": "_"}.get(sign) or _escaped(sign)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from _texts(each)
    else:
        yield _storable(as_text(value))


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _storable(text: str) -> str:
    """PostgreSQL has no sign for zero, nor for halves of others."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
