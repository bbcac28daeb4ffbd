"""Data to measure on: pages, questions, and the pages that answer each.

A folder of one's own has `pdfs/` or `images/`, `queries.jsonl` and `qrels.jsonl`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from docpruner.encoders.registry import Encoder
from docpruner.errors import DataError, PageError
from docpruner.evaluate.sampling import some_of
from docpruner.index.store import PageStore
from docpruner.pages.document import draw_page
from docpruner.pages.files import find_files
from docpruner.pages.leaf import DEFAULT_PIXELS
from docpruner.pages.reader import PageReader
from docpruner.pipeline.add import Watch, add_files
from docpruner.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image

FOLDERS = ("pdfs", "images")

Qrels = dict[str, dict[str, int]]  # of a query, of a page: relevance


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    lang: str = ""  # empty if unknown


class Source(Protocol):
    """Where the pages of a data set come from."""

    def fingerprint(self) -> str:
        """Of all pages; another one means that they have changed."""

    def fill(self, store: PageStore, encoder: Encoder, *, ocr: bool, watch: Watch | None) -> None:
        """Bring a store up to date with the pages; goes on where it was stopped."""

    def page_id(self, document: str, number: int) -> str:
        """The name by which answers refer to a page of the store."""

    def picture(self, document: str, number: int) -> Image:
        """The page, to be looked at."""

    def some_pages(self, count: int, *, pixels: int | None, ocr: bool) -> list[Page]:
        """So many pages, evenly spread, as an encoder would get them; fewer if there are fewer."""


@dataclass(frozen=True)
class DataSet:
    """Pages, queries, and how relevant which page is to which query."""

    name: str
    source: Source
    queries: tuple[Query, ...]
    qrels: Qrels
    measure: str = "ndcg@5"  # the main one, by which settings are compared

    @property
    def judged(self) -> tuple[Query, ...]:
        """The queries that have an answer; the others measure nothing."""
        return tuple(query for query in self.queries if any(self.qrels.get(query.id, {}).values()))


@dataclass(frozen=True)
class FolderSource:
    """PDFs and images below a folder; a page is named `report.pdf#3`, with folders below it."""

    folder: Path

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=16)
        for file in self.files():
            digest.update(f"{file.relative_to(self.folder)}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
        return digest.hexdigest()

    def files(self) -> list[Path]:
        return [file for file in find_files([self.folder]) if isinstance(file, Path)]

    def fill(self, store: PageStore, encoder: Encoder, *, ocr: bool, watch: Watch | None) -> None:
        report = add_files(store, encoder, [self.folder], ocr=ocr, watch=watch)
        if report.outcome == "none":
            raise DataError(f"{self.folder}: no page can be read; {report.problems[0]}")

    def picture(self, document: str, number: int) -> Image:
        return draw_page(Path(document), number, DEFAULT_PIXELS)

    def some_pages(self, count: int, *, pixels: int | None, ocr: bool) -> list[Page]:
        with PageReader(pixels=pixels, ocr=ocr) as reader:
            places = [
                (file, number) for file in self.files() for number in _page_numbers(reader, file)
            ]
            return some_of(places, count, lambda place: _read_page(reader, *place))

    def page_id(self, document: str, number: int) -> str:
        return f"{Path(document).relative_to(self.folder)}#{number}"


def _page_numbers(reader: PageReader, file: Path) -> range:
    try:
        return range(1, reader.open(file) + 1)
    except PageError:  # told of when the pages are encoded
        return range(0)


def _read_page(reader: PageReader, file: Path, number: int) -> Page:
    reader.open(file)
    (page,) = reader.pages([number])
    if isinstance(page, PageError):
        raise page
    return page


def load_folder(folder: Path) -> DataSet:
    """A data set of one's own. A line that is wrong is named with its number."""
    if not folder.is_dir():
        raise DataError(
            f"{folder} is no folder; give one with pdfs/, queries.jsonl and qrels.jsonl"
        )
    below = next((folder / name for name in FOLDERS if (folder / name).is_dir()), None)
    if below is None:
        raise DataError(f"{folder} has no folder pdfs or images; put the documents into one")
    source = FolderSource(below.resolve())
    documents = {str(file.relative_to(source.folder)) for file in source.files()}
    queries = _queries(folder / "queries.jsonl")
    qrels = _qrels(folder / "qrels.jsonl", {query.id for query in queries}, documents)
    return DataSet(folder.resolve().name, source, queries, qrels)


def _queries(path: Path) -> tuple[Query, ...]:
    found: dict[str, Query] = {}
    for where, line in _lines(path):
        query = Query(
            _text(line, "query_id", where), _text(line, "text", where), str(line.get("lang") or "")
        )
        if query.id in found:
            raise DataError(f"{where}: query_id {query.id} stands there twice")
        found[query.id] = query
    if not found:
        raise DataError(f"{path} holds no query; write a line for each, as the docs show")
    return tuple(found.values())


def _qrels(path: Path, queries: set[str], documents: set[str]) -> Qrels:
    found: Qrels = {}
    for where, line in _lines(path):
        query, document = _text(line, "query_id", where), _text(line, "doc", where)
        page, relevance = line.get("page", 0), line.get("relevance", 1)
        if query not in queries:
            raise DataError(f"{where}: query_id {query} is not in queries.jsonl")
        if document not in documents:
            raise DataError(f"{where}: there is no document {document}")
        if not _is_count(page) or page < 1:
            raise DataError(f"{where}: page {page!r} must be a whole number from 1")
        if not _is_count(relevance) or relevance < 0:
            raise DataError(f"{where}: relevance {relevance!r} must be a whole number from 0")
        found.setdefault(query, {})[f"{document}#{page}"] = relevance
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(line: Mapping[str, Any], key: str, where: str) -> str:
    value = line.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: {key} is missing or no text")
    return value


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every line that is not empty, with where it stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8; save it as UTF-8") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: no JSON ({error.msg} at column {error.colno})") from None
        if not isinstance(value, dict):
            raise DataError(f"{where}: not an object in braces")
        yield where, value
