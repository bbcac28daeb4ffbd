"""Search of an index: queries as vectors, the reader's ranking, and where on a page it matched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol, get_args

import numpy as np

from docpruner.encoders.registry import Encoder
from docpruner.errors import ScoringError, TextSearchError
from docpruner.hits import Hit, Match, PageFiles
from docpruner.rotation import rotate
from docpruner.search.filters import named_exactly
from docpruner.search.hybrid import rank_by_both
from docpruner.similarities import best
from docpruner.stores.contract import Reader, Store
from docpruner.stores.records import PageName, RankedPage, StoredPage
from docpruner.types import Filter, FloatArray, Metadata, Mode, Word


@dataclass(frozen=True, eq=False)
class Question:
    """A query as vectors, and for each of them the piece of text it stands for."""

    vectors: FloatArray  # (n, dim)
    words: tuple[str, ...]  # (n,), empty where there is no text
    text: str = ""  # all of it

    @classmethod
    def of(cls, vectors: FloatArray) -> Question:
        """Asked by vectors alone."""
        return cls(vectors, ("",) * len(vectors))

    @cached_property
    def rotated(self) -> FloatArray:
        """As stored vectors of a rotated codec are."""
        return rotate(self.vectors)


class FirstStage(Protocol):
    """Chooses the pages that are worth an exact score."""

    def candidates(
        self, reader: Reader, queries: Sequence[FloatArray], which: Filter
    ) -> Sequence[Collection[PageName]]:
        """For each query the pages to rank; what `which` forbids is left out later."""


def questions(encoder: Encoder, texts: Sequence[str]) -> list[Question]:
    if isinstance(texts, str):
        raise ScoringError(f"search_many takes a list of queries; for one, call search({texts!r})")
    vectors = encoder.encode_queries(texts) if texts else []
    words = [tuple(encoder.query_words(text)) for text in texts]
    return [Question(*all_three) for all_three in zip(vectors, words, texts, strict=True)]


def find(
    store: Store,
    asked: Sequence[Question],
    k: int = 10,
    which: Filter | None = None,
    *,
    among: Sequence[Collection[PageName]] | None = None,
    first_stage: FirstStage | None = None,
    exact: bool = False,
    mode: Mode = "vectors",
    files: PageFiles | None = None,
) -> list[list[Hit]]:
    """For each question its `k` best pages, the best first; all that is read is of one moment.

    Ranked are all pages that `which` allows, or of those the ones that are `among` the candidates,
    or that a `first_stage` chooses: this one, or else the store's, if it has one and `exact` is
    false. Scores are exact in any case. `files` is where hits read their words and pictures from.
    A `mode` other than vectors needs questions that are texts, and knows no `among` nor a
    `first_stage` of one's own; `hit.score` then is what full-text search gives, or both together.
    """
    if mode not in get_args(Mode):
        raise ScoringError(f"no mode {mode!r}; there are: {', '.join(get_args(Mode))}")
    if k < 1:
        raise ScoringError(f"k={k} must be at least 1")
    if not asked:
        return []
    queries = [question.vectors for question in asked]
    with store.reader() as reader:
        chosen = named_exactly(which or Filter(), reader)
        if first_stage is not None:
            among = first_stage.candidates(reader, queries, chosen)
        if mode == "vectors":
            ranked = reader.rank(queries, k, chosen, among, exact=exact)
        else:
            ranked = _by_text(store, reader, asked, k, chosen, exact=exact, alone=mode == "text")
        names = {page.document for pages in ranked for page in pages}
        entries = map(reader.document, names)
        metadata = {entry.name: entry.metadata for entry in entries if entry is not None}
        found = []
        for question, pages in zip(asked, ranked, strict=True):
            hits = []
            for document, number, score in pages:
                page = reader.page(document, number)
                if page is not None:  # it is there, unless the store is damaged
                    hit = hit_of(question, page, score, metadata.get(document, {}))
                    hits.append(replace(hit, files=files))
            found.append(hits)
    return found


def _by_text(
    store: Store,
    reader: Reader,
    asked: Sequence[Question],
    k: int,
    which: Filter,
    *,
    exact: bool,
    alone: bool,
) -> list[list[RankedPage]]:
    texts = [question.text for question in asked]
    if not all(texts):
        raise ScoringError("a search by text needs a query in words, not vectors or a picture")
    if alone:
        ranked = [reader.rank_text(text, k, which) for text in texts]
    else:
        queries = [question.vectors for question in asked]
        ranked = rank_by_both(reader, texts, queries, k, which, exact=exact)
    if not any(ranked) or not alone:
        _require_text(store, reader)
    return ranked


def _require_text(store: Store, reader: Reader) -> None:
    stats = reader.stats()
    if stats.pages and not stats.pages_with_text:
        why = "as it was made by an earlier version" if stats.settings.text else "by --no-text"
        raise TextSearchError(
            f"{store.location} has no words stored, {why}: search it by vectors, or index the "
            "documents into another index"
        )


def hit_of(question: Question, page: StoredPage, score: float, metadata: Metadata) -> Hit:
    return Hit(
        document=page.document,
        page=page.number,
        score=score,
        matches=matches(question, page),
        metadata=metadata,
        size=page.size,
        query=question.text,
        stored_words=_words_of(page),
    )


def matches(question: Question, page: StoredPage) -> tuple[Match, ...]:
    """For each vector of the query the stored vector that matches it best, and its boxes."""
    tokens = question.rotated if page.vectors.is_rotated else question.vectors
    places, scores = best(tokens, page.vectors, 1)
    weights = np.linalg.norm(question.vectors, axis=1)
    origin = page.provenance
    return tuple(
        Match(
            word=word,
            score=score,
            boxes=origin.boxes_of(place),
            found=origin.words_of(place),
            weight=float(weight),
        )
        for word, place, score, weight in zip(
            question.words, places[:, 0].tolist(), scores[:, 0].tolist(), weights, strict=True
        )
    )


def _words_of(page: StoredPage) -> Callable[[], tuple[Word, ...]] | None:
    """Reads the words that are stored of a page; None if there are none that tell."""
    if page.text.is_stored:
        return partial(page.text.placed, page.provenance.patch_boxes)
    recognised = page.provenance.placed_words
    return (lambda: recognised) if recognised else None
