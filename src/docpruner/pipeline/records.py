"""Pages to what is stored of them: encoded, reduced, as bytes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from docpruner.codecs import encode
from docpruner.encoders.registry import Encoder
from docpruner.errors import (
    EncoderError,
    InvalidPageError,
    NoWordsWarning,
    PageError,
    PruningWarning,
)
from docpruner.index.page_map import map_of, pack, rounded
from docpruner.index.records import PageRecord
from docpruner.index.settings import Settings
from docpruner.index.store import PageStore
from docpruner.reduce import reducer
from docpruner.types import Page, PageEmbedding


@dataclass(frozen=True, eq=False)
class Made:
    """What became of one page."""

    record: PageRecord | PageError
    copied: bool = False
    odd_threshold: bool = False


class RecordMaker:
    """Makes records for one index, by its encoder and its settings."""

    def __init__(self, store: PageStore, encoder: Encoder, settings: Settings) -> None:
        self._store, self._encoder, self._settings = store, encoder, settings
        self._reduce = reducer(settings.spec)

    def make(self, pages: Sequence[tuple[str, Page]]) -> list[Made]:
        """One for each page of the file named with it, in order.

        A page that looks the same as a stored one is not encoded again.
        """
        made = [self._copied(page) for _, page in pages]
        new = [number for number, found in enumerate(made) if found is None]
        encoded = self._encoded([pages[number] for number in new])
        for number, embedding in zip(new, encoded, strict=True):
            made[number] = self._reduced(pages[number][1], embedding)
        return [found for found in made if found is not None]

    def _copied(self, page: Page) -> Made | None:
        like = self._store.page_like(page.content) if page.content else None
        if like is None:
            return None
        record = replace(like, number=page.number, size=page.size, words_from=page.words_from)
        return Made(record, copied=True)

    def _encoded(self, pages: Sequence[tuple[str, Page]]) -> list[PageEmbedding | PageError]:
        """A page that can't be encoded fails alone, not the batch it is in."""
        if not pages:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoWordsWarning)  # counted in the report
            try:
                return list(self._encoder.encode_pages([page for _, page in pages]))
            except (EncoderError, InvalidPageError, OSError) as error:
                if len(pages) > 1:
                    return [found for page in pages for found in self._encoded([page])]
                path, page = pages[0]
                remedy = "leave the page out, or use another encoder"
                return [PageError(path, f"can't be encoded ({error})", remedy, page.number)]

    def _reduced(self, page: Page, embedding: PageEmbedding | PageError) -> Made:
        if isinstance(embedding, PageError):
            return Made(embedding)
        embedding = rounded(embedding)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PruningWarning)
            reduction = self._reduce(embedding)
        settings = self._settings
        words: tuple[str, ...] = ()
        one_each = self._encoder.pixels is None and len(page.words) == len(embedding.vectors)
        if page.words_from == "ocr" and one_each:
            words = tuple(word.text for word in page.words)
        page_map = map_of(embedding, reduction, importances=settings.importances, words=words)
        record = PageRecord(
            number=page.number,
            size=page.size,
            content=page.content,
            words_from=page.words_from,
            rows=encode(reduction.vectors, settings.codec).rows,
            special=int(reduction.special.sum()),
            patches=reduction.page_patches,
            map=pack(page_map),
        )
        return Made(record, odd_threshold=bool(caught) and len(embedding.patches) > 1)
