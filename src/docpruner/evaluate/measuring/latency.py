"""What encoding costs: without importance, with it, with pruning, and the way by OCR."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from docpruner.encoders.registry import Encoder
from docpruner.errors import DataError, NoWordsWarning
from docpruner.pages.ocr import ocr_installed, recognised_words
from docpruner.reduce import Reducer
from docpruner.reduce.threshold import unwarned
from docpruner.types import Page

ROUNDS = 3
OCR_PAGES = 3  # it takes seconds a page


@dataclass(frozen=True)
class Latency:
    """Seconds a page; None where a way can't be gone here."""

    pages: int
    spec: str  # of the reduction
    plain: float  # vectors only
    importance: float  # vectors and importances
    pruned: float  # and the reduction
    ocr: float | None  # recognising the words, then encoding those by the built-in encoder
    ocr_pages: int  # so many of the pages, as it is slow

    @property
    def overhead(self) -> float:
        """Of importance and pruning, as a share of a plain pass."""
        return self.pruned / self.plain - 1


def measure_latency(pages: Sequence[Page], encoder: Encoder, reduce: Reducer) -> Latency:
    """The ways take turns, and the best round of each counts.

    Drawing and reading pages is not timed, except by OCR, whose work that is.
    """
    if not pages:
        raise DataError("there is no page to time encoding on; none could be read")
    drawn = [_drawn(page) if encoder.reads == "pixels" else page for page in pages]

    def pruned() -> None:
        for page in encoder.encode_pages(drawn):
            reduce(page)

    ways: dict[str, Callable[[], object]] = {
        "plain": lambda: encoder.encode_plain(drawn),
        "importance": lambda: encoder.encode_pages(drawn),
        "pruned": pruned,
    }
    best = dict.fromkeys(ways, np.inf)
    with unwarned(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NoWordsWarning)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                best[name] = min(best[name], seconds_of(way))
        few = pages[:: -(-len(pages) // OCR_PAGES)]
        ocr = _by_ocr(few)
    each = {name: float(seconds) / len(pages) for name, seconds in best.items()}
    some = len(few) if ocr is not None else 0
    return Latency(len(pages), str(reduce), **each, ocr=ocr, ocr_pages=some)


def _by_ocr(pages: Sequence[Page]) -> float | None:
    if not ocr_installed():
        return None
    from docpruner.encoders.builtin import BuiltinEncoder

    encoder = BuiltinEncoder()
    pictures = [page.render() for page in pages]
    recognised_words(pictures[0].resize((64, 64)))  # loads the models

    def way() -> None:
        read = [
            Page(page.name, page.render, recognised_words(picture))
            for page, picture in zip(pages, pictures, strict=True)
        ]
        encoder.encode_pages(read)

    return seconds_of(way) / len(pages)


def _drawn(page: Page) -> Page:
    picture = page.render()
    return Page(page.name, lambda: picture, page.words)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
