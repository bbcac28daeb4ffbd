"""Pages through an encoder, in steps that different threads can take. A page fails alone."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from docpruner.encoders.registry import Encoder
from docpruner.encoders.steps import EncodesInSteps, Pending
from docpruner.errors import EncoderError, InvalidPageError, NoWordsWarning, PageError
from docpruner.types import Page, PageEmbedding

NamedPage = tuple[str, Page]
"""With the name of its document."""

Encoded = list[PageEmbedding | PageError]
FAILURES = (EncoderError, InvalidPageError, OSError)
BATCH_SECONDS = 3.0  # of work: what a killed process loses
WINDOW = 4  # batches, of whose pages those of like size come together


@dataclass(frozen=True, eq=False)
class PreparedPages:
    pages: Sequence[NamedPage]
    ready: Any = None  # for the device; nothing if the encoder takes one step, or has failed


class PageEncoding:
    """An encoder at work: `collect(run(prepare(pages)))`, one after another or all at once.

    An encoder that takes only one step does all of it in `run`, with batches that take about
    `BATCH_SECONDS`, between one page and `most`.
    """

    def __init__(self, encoder: Encoder | None, *, first: int = 8, most: int = 64) -> None:
        self._encoder = encoder
        self._steps = encoder if isinstance(encoder, EncodesInSteps) else None
        self._pace, self._most = min(first, most), most

    @property
    def batch_pages(self) -> int:
        """How many pages at once are best."""
        return self._pace if self._steps is None else min(self._steps.batch_size, self._most)

    @property
    def first_pages(self) -> int:
        """How many to begin with, to be under way soon."""
        return self._pace if self._steps is None else 1

    @property
    def window_pages(self) -> int:
        """Among how many to look for pages of like size."""
        batch = self.batch_pages
        if self._steps is None or batch == 1:
            return batch
        return min(WINDOW * batch, max(batch, self._most))

    def prepare(self, pages: Sequence[NamedPage]) -> PreparedPages:
        if self._steps is None or not pages:
            return PreparedPages(pages)
        try:
            return PreparedPages(pages, self._steps.prepare([page for _, page in pages]))
        except FAILURES:
            return PreparedPages(pages)

    def run(self, prepared: PreparedPages) -> Callable[[], Encoded]:
        if prepared.ready is not None and self._steps is not None:
            try:
                pending = self._steps.run(prepared.ready)
            except FAILURES:
                return partial(list, self._one_by_one(prepared.pages))
            return partial(self._collected, prepared.pages, pending)
        if self._steps is not None:
            return partial(list, self._one_by_one(prepared.pages))
        return partial(list, self._timed(prepared.pages))

    def _collected(self, pages: Sequence[NamedPage], pending: Pending) -> Encoded:
        try:
            return list(pending())
        except FAILURES:
            return self._one_by_one(pages)

    def _timed(self, pages: Sequence[NamedPage]) -> Encoded:
        if not pages:
            return []
        began = time.monotonic()
        encoded = self._together(pages)
        pace = BATCH_SECONDS / max(time.monotonic() - began, 1e-3)
        self._pace = max(1, min(round(len(pages) * pace), self._most))
        return encoded

    def _together(self, pages: Sequence[NamedPage]) -> Encoded:
        assert self._encoder is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoWordsWarning)  # counted in the report
            try:
                return list(self._encoder.encode_pages([page for _, page in pages]))
            except FAILURES as error:
                if len(pages) > 1:
                    return self._one_by_one(pages)
                document, page = pages[0]
                remedy = "leave the page out, or use another encoder"
                return [PageError(document, f"can't be encoded ({error})", remedy, page.number)]

    def _one_by_one(self, pages: Sequence[NamedPage]) -> Encoded:
        return [result for page in pages for result in self._together([page])]


def like_sizes(pages: Sequence[Page], size: int) -> list[list[int]]:
    """Places of the pages in batches of at most `size`: those of like shape, then area, together.

    In a batch every page is filled up to the longest, which costs as much as a page of that length.
    """

    def shape(place: int) -> tuple[float, float]:
        width, height = pages[place].size
        return round(width / height, 2) if height else 0.0, width * height

    order = sorted(range(len(pages)), key=shape)
    return [order[start : start + size] for start in range(0, len(order), size)]
