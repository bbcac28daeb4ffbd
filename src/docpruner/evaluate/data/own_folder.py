"""Data of one's own: a folder with `pdfs/` or `images/`, `queries.jsonl` and `qrels.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docpruner.errors import DataError, PageError
from docpruner.evaluate.data.data_sets import DataSet, Qrels, Query
from docpruner.evaluate.data.folder_pages import FolderPages

FOLDERS = ("pdfs", "images")


def load_folder(folder: Path) -> DataSet:
    """Read a data set; an error names the line that is wrong."""
    if not folder.is_dir():
        raise DataError(
            f"there is no folder {folder}; give one with pdfs/, queries.jsonl and qrels.jsonl"
        )
    below = next((folder / name for name in FOLDERS if (folder / name).is_dir()), None)
    if below is None:
        raise DataError(f"{folder} has no folder pdfs or images; put the documents in one")
    pages = FolderPages(below.resolve())
    queries = _queries(folder / "queries.jsonl")
    try:
        documents = {pages.name_of(file) for file in pages.files()}
    except PageError as problem:
        raise DataError(str(problem)) from None
    qrels = _qrels(folder / "qrels.jsonl", {query.id for query in queries}, documents)
    data = DataSet(folder.resolve().name, pages, queries, qrels)
    if not data.judged:
        line = '{"query_id": "1", "doc": "report.pdf", "page": 3}'
        raise DataError(f"{folder / 'qrels.jsonl'} has no answers; write lines like {line}")
    return data


def _queries(path: Path) -> tuple[Query, ...]:
    queries: dict[str, Query] = {}
    for where, line in _lines(path):
        query = Query(
            _text(line, "query_id", where), _text(line, "text", where), str(line.get("lang") or "")
        )
        if query.id in queries:
            raise DataError(f"{where}: query_id {query.id} is used twice")
        queries[query.id] = query
    if not queries:
        raise DataError(f'{path} has no queries; write lines like {{"query_id": "1", "text": "…"}}')
    return tuple(queries.values())


def _qrels(path: Path, queries: set[str], documents: set[str]) -> Qrels:
    qrels: Qrels = {}
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
        qrels.setdefault(query, {})[f"{document}#{page}"] = relevance
    return qrels


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(line: Mapping[str, Any], key: str, where: str) -> str:
    value = line.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: {key} is missing, empty or not text")
    return value


def _lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every line that is not empty, with where it stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} can't be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not in UTF-8; save it as UTF-8") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"{where}: not JSON ({error.msg} at column {error.colno})") from None
        if not isinstance(value, dict):
            raise DataError(f"{where}: not an object in braces")
        yield where, value
