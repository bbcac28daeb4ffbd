"""Encoded pages to what is stored of them: reduced, as rows of a codec. Knows no store."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from docpruner.codecs import encode
from docpruner.errors import CodecError, PageError
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.threshold import unwarned
from docpruner.stores.page_map import map_of, rounded
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Page, PageEmbedding, Reduction


@dataclass(frozen=True)
class WrittenPage:
    """What is told of a page that its worker has stored already."""

    vectors: int
    vectors_unpruned: int
    bytes: int  # of the vectors

    @classmethod
    def of(cls, page: StoredPage) -> WrittenPage:
        return cls(len(page.vectors), page.patches + page.special, page.vectors.nbytes)


@dataclass(frozen=True, eq=False)
class PageResult:
    """What became of one page."""

    record: StoredPage | WrittenPage | PageError
    copied: bool = False  # from a page that looks the same
    odd_threshold: bool = False
    has_words: bool = False


class RecordMaker:
    """Makes records of encoded pages by the settings of an index."""

    def __init__(self, settings: Settings, *, reads_words: bool = False) -> None:
        self._settings, self._reads_words = settings, reads_words
        self._reduce = reducer(settings.spec)

    def make(
        self, document: str, page: Page, embedding: PageEmbedding | PageError | None = None
    ) -> PageResult:
        """What is stored of a page; without an embedding, that which the page came with."""
        if embedding is None:
            embedding = self._checked(document, page)
        return self._stored(document, page, embedding)

    def _checked(self, document: str, page: Page) -> PageEmbedding | PageError:
        """An embedding from elsewhere, if it fits the index."""
        embedding = page.embedding
        assert embedding is not None
        if embedding.dim != self._settings.dim:
            return PageError(
                document,
                f"has vectors of {embedding.dim} dimensions, the index {self._settings.dim}",
                "encode it with the encoder of the index",
                page.number,
            )
        if embedding.prompt != self._reduce.prompt and self._reduce.prompt != "default":
            return PageError(
                document,
                f"was encoded with the {embedding.prompt} prompt",
                f"{self._reduce} needs the {self._reduce.prompt} one",
                page.number,
            )
        if self._reduce.signal == "centrality" and embedding.centrality is None:
            return PageError(
                document,
                "came without centrality",
                f"{self._reduce} goes by that; encode it with importance=both",
                page.number,
            )
        return embedding

    def _stored(
        self, document: str, page: Page, embedding: PageEmbedding | PageError
    ) -> PageResult:
        if isinstance(embedding, PageError):
            return PageResult(embedding)
        embedding = rounded(embedding)
        with unwarned():  # counted in the report
            reduction = self._reduce(embedding)
        try:
            vectors = encode(reduction.vectors, self._settings.codec)
        except CodecError as error:
            remedy = "normalise the vectors, or choose another codec"
            return PageResult(PageError(document, str(error), remedy, page.number))
        record = StoredPage(
            document=document,
            number=page.number,
            size=page.size,
            words_from=page.words_from,
            vectors=vectors,
            provenance=map_of(
                embedding,
                reduction,
                importances=self._settings.importances,
                words=self._words(page, embedding),
            ),
            content_hash=page.content_hash,
        )
        odd = is_odd(self._reduce, embedding, reduction)
        return PageResult(record, odd_threshold=odd, has_words=bool(page.words))

    def _words(self, page: Page, embedding: PageEmbedding) -> tuple[str, ...]:
        """What OCR recognised, where each word has a vector: the file can't tell it again."""
        by_word = self._reads_words and len(page.words) == len(embedding.vectors)
        if page.words_from != "ocr" or not by_word:
            return ()
        return tuple(word.text for word in page.words)


def copy_of(like: StoredPage, document: str, page: Page) -> PageResult:
    """The record of a page that looks the same as a stored one."""
    record = replace(
        like,
        document=document,
        number=page.number,
        size=page.size,
        words_from=page.words_from,
        content_hash=page.content_hash,
    )
    return PageResult(record, copied=True, has_words=bool(page.words))


def is_odd(reduce: Reducer, page: PageEmbedding, reduction: Reduction) -> bool:
    """Whether a threshold separated nothing: all patches stay, or one alone."""
    stages = [stage for stage in reduce.stages if stage.strategy.thresholds]
    floors = [int(dict(stage.values).get("floor", 0)) for stage in stages]
    if not stages or len(page.patches) <= max(1, *floors):
        return False
    kept = len(np.intersect1d(reduction.sources, page.patches))
    return kept in (1, len(page.patches))
