"""Data to measure on: pages, questions, and the pages that answer each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from docpruner.errors import DataError
from docpruner.pages.sources import Source
from docpruner.stores.records import PageName
from docpruner.types import Ocr, Page

if TYPE_CHECKING:
    from PIL.Image import Image

Qrels = dict[str, dict[str, int]]  # of a query, of a page: relevance


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    lang: str = ""  # empty if unknown


class PageSet(Protocol):
    """The pages of a data set."""

    @property
    def key(self) -> str:
        """Says which pages these are, whatever they look like today: a folder's path, say."""

    def source(self, *, pixels: int | None, ocr: Ocr) -> Source:
        """All of them, to be added to an index; `pixels` and `ocr` are those of `PageReader`."""

    def content_hash(self, document: str) -> bytes | None:
        """Of a document as it is now, as its source has it; None if there is no such document."""

    def page_id(self, page: PageName) -> str:
        """How answers refer to a page."""

    def picture(self, page: PageName) -> Image:
        """The page, to be looked at."""

    def some_pages(self, count: int, *, pixels: int | None, ocr: Ocr) -> list[Page]:
        """So many pages, evenly spread, as an encoder would get them; fewer if there are fewer."""


@dataclass(frozen=True)
class DataSet:
    """Pages, queries, and how relevant which page is to which query."""

    name: str
    pages: PageSet
    queries: tuple[Query, ...]
    qrels: Qrels
    measure: str = "ndcg@5"  # the main one, by which settings are compared

    @property
    def judged(self) -> tuple[Query, ...]:
        """The queries that have an answer; the others measure nothing."""
        return tuple(query for query in self.queries if any(self.qrels.get(query.id, {}).values()))

    def require_answers(self) -> None:
        if not self.judged:
            raise DataError(f"{self.name}: no query has an answer, so there is nothing to measure")
