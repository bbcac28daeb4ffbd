"""Filters of a search, as they stand in an address."""

from __future__ import annotations

from collections.abc import Sequence

from docpruner.web.problems import Refused


def read_pages(text: str | None) -> tuple[int, int | None] | None:
    """`7`, `3-10`, `3-` or `-10`."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    low = int(first or 1)
    high = (int(last) if last else None) if dash else low
    if high is not None and high < low:
        raise Refused(422, "pages: that is no range; write 7, 3-10, 3- or -10")
    return low, high


def read_metadata(given: Sequence[str] | None) -> dict[str, str] | None:
    """`key=value`, any number of them."""
    if not given:
        return None
    pairs = [text.partition("=") for text in given]
    if not all(key.strip() and equals for key, equals, _ in pairs):
        raise Refused(422, "metadata: write key=value, for example year=2024")
    return {key.strip(): value.strip() for key, _, value in pairs}
