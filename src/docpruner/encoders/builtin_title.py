"""Which words stand out on the first page of a document, so that they tell what it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docpruner.encoders.builtin_rarity import bare
from docpruner.types import FloatArray, Word

SIZE_POWER = 2  # of how tall its letters are, beside its importance
TALLEST = 8.0  # times the usual height; more is a decoration
SHORTEST = 0.5
TURNED = 1.5  # times as high as wide: a word of several letters that runs up or down the page


def standing_out(words: Sequence[Word], importance: FloatArray, count: int) -> list[int]:
    """The rows of the `count` words of a page that are most important and largest, each word
    once."""
    weight = importance * letter_heights(words) ** SIZE_POWER
    found: dict[str, int] = {}
    for row in np.argsort(-weight, kind="stable").tolist():
        word = bare(words[row].text)
        if word and len(found) < count:
            found.setdefault(word, row)
    return list(found.values())


def letter_heights(words: Sequence[Word]) -> FloatArray:
    """How tall the letters of each word are, where 1 is usual on the page."""
    boxes = np.array([word.box for word in words], np.float32)
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    turned = np.array([len(word.text) > 2 for word in words]) & (height > TURNED * width)
    height = np.where(turned, width, height)
    usual = max(float(np.median(height)), 1e-6)
    heights: FloatArray = np.clip(height / usual, SHORTEST, TALLEST).astype(np.float32)
    return heights
