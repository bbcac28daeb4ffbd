"""Filters of a search as people write them, on the command line and in addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docpruner.errors import FilterError


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
    raise FilterError(f"pages {text} is no range of pages; write 7, 3-10, 3- or -10")


def read_metadata(given: Sequence[str] | None) -> dict[str, str] | None:
    """`key=value`, any number of them."""
    if not given:
        return None
    metadata = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (equals and key.strip()):
            raise FilterError(f"metadata {text} is not KEY=VALUE; write for example year=2024")
        metadata[key.strip()] = value.strip()
    return metadata
