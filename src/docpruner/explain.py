"""Why a page matched and what was kept of it: in words, and as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from docpruner.errors import PageError
from docpruner.index.records import StoredPage
from docpruner.types import BoolArray, Box, FloatArray, Hit, Match, Word

if TYPE_CHECKING:
    from PIL.Image import Image

PIXELS = 1_500_000  # of a drawn page
COUNTS = 0.35  # of the best word's score: what a word of the query needs to be worth mentioning
NEAR = 0.002  # of the page: boxes are stored rounded
MARKS = ".,;:!?()[]{}«»„“”\"'"
MOST_WORDS = 4  # of the page, for one word of the query


def matched_words(hit: Hit) -> list[tuple[str, str]]:
    """The words of the query that count most, the best first, each with what answers it.

    That is the text under the patches that match, read from the document; where there is none, as
    on a scan or when the file is gone, the part of the page where they lie.
    """
    try:
        words = _page_words(hit)
    except PageError:
        words = ()
    best = sorted((m for m in hit.matches if m.boxes), key=lambda match: -match.score)
    best = [match for match in best if match.score >= COUNTS * best[0].score]
    return [
        (match.word.strip(MARKS) or match.word, _text_in(words, match.boxes) or region(match))
        for match in best
    ]


def region(match: Match) -> str:
    """Where on the page a match is, in words such as `top left`."""
    boxes = np.array(match.boxes)
    x, y = ((boxes[:, :2] + boxes[:, 2:]) / 2).mean(axis=0)
    row = ("top", "middle", "bottom")[min(int(3 * y), 2)]
    column = ("left", "centre", "right")[min(int(3 * x), 2)]
    return f"{row} {column}"


def hit_picture(hit: Hit, *, word: int | None = None) -> Image:
    """The page of a hit with the places lit that answer the query, or one `word` of it."""
    from docpruner.pages.document import draw_page
    from docpruner.pictures.match import match_picture

    image = draw_page(Path(hit.document), hit.page, PIXELS)
    legend = [(hit.name, f"score {hit.score:.2f}")]
    return match_picture(image, hit.matches, word=word, legend=legend)


def kept_page_picture(page: StoredPage) -> Image:
    """The page with what an index keeps of it clear and the rest faint, tinted by importance."""
    from docpruner.pages.document import draw_page

    rows = page.map.patches
    return kept_patches_picture(
        draw_page(Path(page.document), page.number, PIXELS),
        page.map.boxes[rows],
        None if page.map.importance is None else page.map.importance[rows],
        page.map.kept[rows],
    )


def kept_patches_picture(
    image: Image, boxes: FloatArray, importance: FloatArray | None, kept: BoolArray
) -> Image:
    """The same from the patches themselves, with their figures below."""
    from docpruner.pictures.kept import kept_picture

    legend = [("patches", f"{len(kept):,}"), ("kept", f"{kept.sum():,} ({kept.mean():.0%})")]
    if importance is not None:
        legend += [("μ", f"{importance.mean():.3g}"), ("σ", f"{importance.std():.3g}")]
    return kept_picture(image, boxes, importance, kept, legend=legend)


def _page_words(hit: Hit) -> tuple[Word, ...]:
    from docpruner.pages.document import page_words

    return page_words(Path(hit.document), hit.page)


def _text_in(words: Sequence[Word], boxes: Sequence[Box]) -> str:
    found = []
    for word in words:
        x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
        if any(
            x0 - NEAR <= x <= x1 + NEAR and y0 - NEAR <= y <= y1 + NEAR for x0, y0, x1, y1 in boxes
        ):
            found.append(word.text)
    text = " ".join(found[:MOST_WORDS])
    return (text.strip(MARKS) or text) + (" …" if len(found) > MOST_WORDS else "")
