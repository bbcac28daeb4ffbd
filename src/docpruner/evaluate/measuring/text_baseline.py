"""What plain full-text search scores on the same pages, alone and together with all vectors.

Whoever stores vectors should know what they are better than.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from docpruner.errors import TextSearchError
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.measures import DEPTH, Values, interval, p_value, per_query
from docpruner.search.hybrid import rank_by_both
from docpruner.stores.contract import Reader
from docpruner.stores.locations import open_store
from docpruner.stores.records import RankedPage, Stats
from docpruner.types import Filter


@dataclass(frozen=True)
class TextResult:
    """A search that goes by words, measured."""

    name: str  # bm25, or hybrid: with the vectors of the base
    measures: dict[str, float]  # means over queries
    score: float  # the mean of the main measure
    ci: tuple[float, float]  # of the score, 95 %
    relative: float | None  # the score as a share of the base's, if that is not 0
    p: float  # that the difference from the base's score is chance
    text_bytes_per_page: float  # words and full-text index


def text_results(data: EncodedData, base: Values) -> tuple[list[TextResult], list[str]]:
    """Full-text search and hybrid search, and what is to be told of what was left out.

    base: the main measure of every query by vectors alone.
    """
    texts = [query.text for query in data.data.judged]
    with open_store(data.location) as store, store.reader() as reader:
        stats = reader.stats()
        if stats.pages_with_text < stats.pages:
            return [], [
                "bm25 was left out: pages were encoded before their words were kept; to measure "
                f"it, remove {data.location}"
            ]
        try:
            ranked = {
                "bm25": [reader.rank_text(text, _depth(data, stats), Filter()) for text in texts],
                "hybrid": _by_both(reader, data, texts, stats),
            }
        except TextSearchError as error:
            return [], [f"bm25 was left out: {error}"]
    size = stats.bytes_of_text / max(stats.pages, 1)
    return [_result(name, data, pages, base, size) for name, pages in ranked.items()], []


def _depth(data: EncodedData, stats: Stats) -> int:
    """So many that enough are left without pages that are no longer of the data set."""
    return DEPTH + stats.pages - len(data.pages)


def _by_both(
    reader: Reader, data: EncodedData, texts: Sequence[str], stats: Stats
) -> list[list[RankedPage]]:
    return rank_by_both(reader, texts, data.queries, _depth(data, stats), Filter(), exact=True)


def _result(
    name: str,
    data: EncodedData,
    ranked: Sequence[Sequence[RankedPage]],
    base: Values,
    text_bytes_per_page: float,
) -> TextResult:
    ids = [query.id for query in data.data.judged]
    there = set(data.pages)
    run = {
        query: [data.data.pages.page_id(page.name) for page in pages if page.name in there][:DEPTH]
        for query, pages in zip(ids, ranked, strict=True)
    }
    values = per_query(run, data.data.qrels, ids)
    own = values[data.data.measure]
    sure = interval(own)
    return TextResult(
        name=name,
        measures={measure: float(each.mean()) for measure, each in values.items()},
        score=float(own.mean()),
        ci=(sure.low, sure.high),
        relative=float(own.mean() / base.mean()) if base.any() else None,
        p=p_value(own, base),
        text_bytes_per_page=text_bytes_per_page,
    )
