"""What of the data can't be found at all, whatever is measured: told beside the results."""

from __future__ import annotations

from docpruner.evaluate.data.data_sets import DataSet
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.measures import Values, measure_name
from docpruner.stores.locations import open_store
from docpruner.stores.records import PageName

NAMED = 3  # pages


def unknown_answers(data: EncodedData) -> list[str]:
    """Pages that are said to answer a query but could not be read, or do not exist."""
    there = set(data.page_ids)
    missing = sorted(set().union(*_answers(data)) - there)
    if not missing:
        return []
    named = ", ".join(missing[:NAMED]) + (" …" if len(missing) > NAMED else "")
    return [f"{len(missing)} pages that answer queries are not among the pages read: {named}"]


def wordless_answers(data: EncodedData, *, ocr: bool) -> list[str]:
    """How many queries an encoder that reads words can only fail on."""
    wordless = {data.data.pages.page_id(page) for page in _wordless(data)}
    answers = _answers(data)
    lost = sum(pages <= wordless for pages in answers)
    if not lost:
        return []
    remedy = "OCR found none there" if ocr else "--ocr reads such pages"
    return [
        f"{len(wordless):,} of {len(data.pages):,} pages have no words, and {lost:,} of "
        f"{len(answers):,} queries are answered only there; {remedy}"
    ]


def nothing_found(data: DataSet, scores: Values) -> list[str]:
    """That the base has nothing to lose; `scores` are the main measure of its queries."""
    if scores.any():
        return []
    return [
        f"nothing is found even without pruning ({measure_name(data.measure)} is 0 for every "
        "query), so nothing can be compared with it"
    ]


def _answers(data: EncodedData) -> list[set[str]]:
    """Of each judged query."""
    qrels = data.data.qrels
    return [
        {page for page, relevance in qrels[query.id].items() if relevance}
        for query in data.data.judged
    ]


def _wordless(data: EncodedData) -> set[PageName]:
    silent: set[PageName] = set()
    with open_store(data.location) as store, store.reader() as reader:
        for entry in reader.documents():
            known = reader.known(entry.name, entry.content_hash)
            if known is not None:
                silent |= {PageName(entry.name, number) for number in known.without_words}
    return silent & set(data.pages)
