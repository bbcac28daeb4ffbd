"""Tables of the Hub to data sets. Ids may be numbers or text there; here they are text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docpruner.errors import DataError
from docpruner.evaluate.data.data_sets import DataSet, Qrels, Query
from docpruner.evaluate.data.hub_pages import HubPages

Table = Any  # datasets.Dataset


def flat_data(name: str, key: str, table: Table, language: str) -> DataSet:
    """Of one table with pages and queries in the same rows; `key` is that of the pages."""
    rows: dict[str, int] = {}  # of each page the first
    queries: dict[str, Query] = {}
    qrels: Qrels = {}
    pages, texts = _ids(name, table, "image_filename"), _values(name, table, "query")
    for row, (page, text) in enumerate(zip(pages, texts, strict=True)):
        rows.setdefault(page, row)
        if _is_text(text):
            query = queries.setdefault(text, Query(str(row), text, language))
            qrels.setdefault(query.id, {})[page] = 1
    corpus = HubPages(name, key, _pictures(name, table), rows)
    return _checked(DataSet(name, corpus, tuple(queries.values()), qrels), rows)


def parts_data(name: str, key: str, tables: Mapping[str, Table], language: str) -> DataSet:
    """Of a corpus, queries and qrels; `key` is that of the pages."""
    queries = _queries(f"{name}, queries", tables["queries"], language)
    qrels = _qrels(f"{name}, qrels", tables["qrels"])
    corpus = _corpus(name, key, tables["corpus"])
    third = "corpus_id" in tables["corpus"].column_names
    measure = "ndcg@10" if third else "ndcg@5"  # V3, and all before
    return _checked(DataSet(name, corpus, queries, qrels, measure), corpus.rows)


def _corpus(name: str, key: str, table: Table) -> HubPages:
    where = f"{name}, corpus"
    pages = _ids(where, table, "corpus-id", "corpus_id")
    rows = {page: row for row, page in enumerate(pages)}
    if len(rows) < len(pages):
        twice = next(page for row, page in enumerate(pages) if rows[page] != row)
        raise DataError(f"{where}: the id {twice} is used twice")
    return HubPages(name, key, _pictures(where, table), rows)


def _queries(where: str, table: Table, language: str) -> tuple[Query, ...]:
    ids = _ids(where, table, "query-id", "query_id")
    texts = _values(where, table, "query")
    languages = [language] * len(ids)
    if "language" in table.column_names:
        languages = [str(each or "") for each in _values(where, table, "language")]
    asked = zip(ids, texts, languages, strict=True)
    return tuple(Query(*query) for query in asked if _is_text(query[1]))


def _qrels(where: str, table: Table) -> Qrels:
    qrels: Qrels = {}
    queries = _ids(where, table, "query-id", "query_id")
    pages = _ids(where, table, "corpus-id", "corpus_id")
    for query, page, score in zip(queries, pages, _values(where, table, "score"), strict=True):
        if not isinstance(score, int | float):
            raise DataError(f"{where}: column score holds {score!r}, which is not a number")
        qrels.setdefault(query, {})[page] = int(score)
    return qrels


def _checked(data: DataSet, pages: Mapping[str, int]) -> DataSet:
    """Ids that don't match would be measured as if no answer was ever found."""
    if not any(pages.keys() & data.qrels[query.id].keys() for query in data.judged):
        raise DataError(f"{data.name}: no query has an answer among its pages; do the ids match?")
    return data


def _ids(where: str, table: Table, *names: str) -> list[str]:
    values = _values(where, table, *names)
    if None in values:
        row = values.index(None) + 1
        raise DataError(f"{where}: column {' or '.join(names)} is empty in row {row}")
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
        f"{where}: there is no column {' or '.join(names)}, only {', '.join(table.column_names)}"
    )


def _pictures(where: str, table: Table) -> Table:
    """The column of pictures alone, as bytes."""
    from datasets import Image  # type: ignore[import-untyped]

    column = _column(where, table, "image")
    try:
        return table.select_columns([column]).cast_column(column, Image(decode=False))
    except (NotImplementedError, TypeError, ValueError) as error:  # pyarrow has these
        reason = str(error).split("\n")[0]
        raise DataError(f"{where}: column image does not hold pictures ({reason})") from None


def _is_text(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())
