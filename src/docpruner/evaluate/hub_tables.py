"""Tables of the Hub to data sets. Ids may be numbers or text there; here they are text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docpruner.errors import DataError
from docpruner.evaluate.data import DataSet, Qrels, Query
from docpruner.evaluate.hub_source import HubSource

Table = Any  # datasets.Dataset


def flat_data(name: str, table: Table, language: str) -> DataSet:
    """Of one table with pages and queries in the same rows."""
    rows: dict[str, int] = {}  # of each page the first
    queries: dict[str, Query] = {}
    qrels: Qrels = {}
    pages, texts = _ids(name, table, "image_filename"), _values(name, table, "query")
    for row, (page, text) in enumerate(zip(pages, texts, strict=True)):
        rows.setdefault(page, row)
        if _said(text):
            query = queries.setdefault(text, Query(str(row), text, language))
            qrels.setdefault(query.id, {})[page] = 1
    source = HubSource(name, _pictures(name, table), tuple(rows.values()), tuple(rows))
    return _checked(DataSet(name, source, tuple(queries.values()), qrels))


def parts_data(name: str, tables: Mapping[str, Table], language: str) -> DataSet:
    """Of a corpus, queries and qrels."""
    queries = _queries(f"{name}, queries", tables["queries"], language)
    qrels = _qrels(f"{name}, qrels", tables["qrels"])
    corpus = tables["corpus"]
    measure = "ndcg@10" if "corpus_id" in corpus.column_names else "ndcg@5"  # V3, and all before
    return _checked(DataSet(name, _corpus(name, corpus), queries, qrels, measure))


def _corpus(name: str, table: Table) -> HubSource:
    where = f"{name}, corpus"
    pages = _ids(where, table, "corpus-id", "corpus_id")
    rows = {page: row for row, page in enumerate(pages)}
    if len(rows) < len(pages):
        twice = next(page for row, page in enumerate(pages) if rows[page] != row)
        raise DataError(f"{where}: the id {twice} stands there twice")
    return HubSource(name, _pictures(where, table), tuple(rows.values()), tuple(rows))


def _queries(where: str, table: Table, language: str) -> tuple[Query, ...]:
    ids = _ids(where, table, "query-id", "query_id")
    texts = _values(where, table, "query")
    languages = [language] * len(ids)
    if "language" in table.column_names:
        languages = [str(told or "") for told in _values(where, table, "language")]
    asked = zip(ids, texts, languages, strict=True)
    return tuple(Query(i, text, told) for i, text, told in asked if _said(text))


def _qrels(where: str, table: Table) -> Qrels:
    found: Qrels = {}
    queries = _ids(where, table, "query-id", "query_id")
    pages = _ids(where, table, "corpus-id", "corpus_id")
    for query, page, score in zip(queries, pages, _values(where, table, "score"), strict=True):
        if not isinstance(score, int | float):
            raise DataError(f"{where}: column score holds {score!r}, no number")
        found.setdefault(query, {})[page] = int(score)
    return found


def _checked(data: DataSet) -> DataSet:
    """Ids of another kind would find no answer to anything, and be measured as that."""
    assert isinstance(data.source, HubSource)
    pages = set(data.source.ids)
    if not any(pages & data.qrels[query.id].keys() for query in data.judged):
        raise DataError(f"{data.name}: no query has an answer among its pages; do the ids fit?")
    return data


def _ids(where: str, table: Table, *names: str) -> list[str]:
    values = _values(where, table, *names)
    if None in values:
        row = values.index(None) + 1
        raise DataError(f"{where}: column {' or '.join(names)} holds nothing in row {row}")
    return [str(value) for value in values]


def _values(where: str, table: Table, *names: str) -> list[Any]:
    """A column, by the first of its names that the table has."""
    column = _column(where, table, *names)
    values: list[Any] = table.data.column(column).to_pylist()
    return values


def _column(where: str, table: Table, *names: str) -> str:
    for name in names:
        if name in table.column_names:
            return name
    raise DataError(
        f"{where}: no column {' or '.join(names)}; there are {', '.join(table.column_names)}"
    )


def _pictures(where: str, table: Table) -> Table:
    """The column of pictures alone, as bytes."""
    from datasets import Image  # type: ignore[import-untyped]

    column = _column(where, table, "image")
    try:
        return table.select_columns([column]).cast_column(column, Image(decode=False))
    except (NotImplementedError, TypeError, ValueError) as error:  # pyarrow has these
        reason = str(error).split("\n")[0]
        raise DataError(f"{where}: column image holds no pictures ({reason})") from None


def _said(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
