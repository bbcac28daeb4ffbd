"""Some of many pages, evenly spread over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from docpruner.errors import PageError
from docpruner.types import Page

Place = TypeVar("Place")


def some_of(places: Sequence[Place], count: int, read: Callable[[Place], Page]) -> list[Page]:
    """The pages in the middle of each of `count` equal parts; others for those that can't be read.

    If there are too few, all that can be read.
    """
    total = len(places)
    count = min(count, total)
    chosen = [(2 * part + 1) * total // (2 * count) for part in range(count)]
    spare = sorted(set(range(total)) - set(chosen))
    pages: list[Page] = []
    for at in (*chosen, *spare):
        if len(pages) == count:
            break
        try:
            pages.append(read(places[at]))
        except PageError:
            continue
    return pages
