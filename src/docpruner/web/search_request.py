"""What a search is asked for, as it stands in an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from docpruner.search.filters import read_metadata, read_pages
from docpruner.types import Mode

LONGEST_FILTER, MOST_FILTERS = 200, 10

Short = Annotated[str, Query(max_length=LONGEST_FILTER)]
Glob = Annotated[str, Query(min_length=1, max_length=LONGEST_FILTER)]


@dataclass(frozen=True)
class Narrowed:
    """How many pages, and which may be among them."""

    k: int = 10
    documents: tuple[str, ...] = ()
    pages: tuple[int, int | None] | None = None
    metadata: Mapping[str, str] | None = None
    exact: bool = False


@dataclass(frozen=True)
class SearchRequest:
    query: str
    only: Narrowed
    mode: Mode = "vectors"


def narrowed(
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    document: Annotated[list[Glob] | None, Query(max_length=MOST_FILTERS)] = None,
    pages: Annotated[
        str | None, Query(pattern=r"^\d{1,9}$|^\d{1,9}-\d{0,9}$|^-\d{1,9}$", examples=["3-10"])
    ] = None,
    metadata: Annotated[
        list[Short] | None, Query(max_length=MOST_FILTERS, examples=[["year=2024"]])
    ] = None,
    exact: bool = False,
) -> Narrowed:
    return Narrowed(k, tuple(document or ()), read_pages(pages), read_metadata(metadata), exact)


Only = Annotated[Narrowed, Depends(narrowed)]
