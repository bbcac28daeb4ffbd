"""Filters of a search as people write them, on the command line and in addresses."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from docpruner.errors import FilterError
from docpruner.stores.contract import Reader
from docpruner.types import Filter, fits, is_named


def read_pages(text: str | None) -> tuple[int, int | None] | None:
    """`7`, `3-10`, `3-` or `-10`."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)|(\d*)-(\d*)", text.replace(" ", ""))
    if found and found[1]:
        return int(found[1]), int(found[1])
    if found and (found[2] or found[3]):
        first, last = int(found[2] or 1), int(found[3]) if found[3] else None
        if last is None or first <= last:
            return first, last
    raise FilterError(f"{text!r} is not a page range; write 7, 3-10, 3- or -10")


def read_metadata(given: Sequence[str] | None) -> dict[str, str] | None:
    """`key=value`, any number of them."""
    if not given:
        return None
    metadata = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise FilterError(f"metadata {text!r} is not KEY=VALUE; write for example year=2024")
        metadata[key.strip()] = value.strip()
    return metadata


def matching(names: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The documents meant by globs; one that is called exactly as a glob is what it means."""
    there = list(names)
    meant: set[str] = set()
    for pattern in globs:
        exact = [pattern] if pattern in there else [n for n in there if is_named(n, pattern)]
        meant.update(exact or [name for name in there if fits(name, pattern)])
    return [name for name in there if name in meant]


def named_exactly(which: Filter, reader: Reader) -> Filter:
    """The filter, where a glob that is the name of a document stands for that document alone."""
    if not any(glob.has_magic(pattern) for pattern in which.documents):
        return which
    names = reader.names()
    patterns = tuple(
        glob.escape(pattern) if any(is_named(name, pattern) for name in names) else pattern
        for pattern in which.documents
    )
    return replace(which, documents=patterns)
