"""Encoded pages to what is stored of them: reduced, as rows of a codec. Knows no store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from docpruner.codecs import encode
from docpruner.errors import CodecError, PageError
from docpruner.reduce import Reducer, reducer
from docpruner.reduce.threshold import unwarned
from docpruner.stores.page_map import PageMap, map_of, rounded
from docpruner.stores.page_text import PageText
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Page, PageEmbedding, Reduction, Word

AS_STORED = 0.002  # of the page, by which the map of a stored one rounds


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

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
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
        provenance = map_of(embedding, reduction, importances=self._settings.importances)
        record = StoredPage(
            document=document,
            number=page.number,
            size=page.size,
            words_from=page.words_from,
            vectors=vectors,
            provenance=provenance,
            content_hash=page.content_hash,
            text=self._text(page, provenance),
        )
        odd = is_odd(self._reduce, embedding, reduction)
        return PageResult(record, odd_threshold=odd, has_words=bool(page.words))

    def copied(self, like: StoredPage, document: str, page: Page) -> PageResult:
        """The record of a page that looks the same as a stored one; its words are its own."""
        record = replace(
            like,
            document=document,
            number=page.number,
            size=page.size,
            words_from=page.words_from,
            content_hash=page.content_hash,
            text=self._text(page, like.provenance),
        )
        return PageResult(record, copied=True, has_words=bool(page.words))

    def _text(self, page: Page, provenance: PageMap) -> PageText:
        encoded_elsewhere = page.embedding is not None and not page.words
        if not self._settings.text or encoded_elsewhere:
            return PageText()
        return PageText.of(page.words, places=not _has_places(provenance, page.words))


def _has_places(provenance: PageMap, words: Sequence[Word]) -> bool:
    """Whether each vector stands for a word, so that the map knows where the words are."""
    places = provenance.patch_boxes
    if not words or len(words) != len(places):
        return False
    boxes = np.array([word.box for word in words], np.float32)
    return bool((np.abs(boxes - places) <= AS_STORED).all())


def is_odd(reduce: Reducer, page: PageEmbedding, reduction: Reduction) -> bool:
    """Whether a threshold separated nothing: all patches stay, or one alone."""
    stages = [stage for stage in reduce.stages if stage.strategy.thresholds]
    floors = [int(dict(stage.values).get("floor", 0)) for stage in stages]
    if not stages or len(page.patches) <= max(1, *floors):
        return False
    kept = len(np.intersect1d(reduction.sources, page.patches))
    return kept in (1, len(page.patches))
