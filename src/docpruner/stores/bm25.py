"""BM25 over the words of pages, for stores whose engine has no text search of its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from docpruner.types import FloatArray
from docpruner.word_forms import words_in

__all__ = ["bm25", "words_in"]

K1, B = 1.2, 0.75  # as in SQLite's FTS5


def bm25(query: str, texts: Sequence[Iterable[str]]) -> FloatArray:
    """The score of each text, given as words in lower case; minus infinity without any match."""
    asked = set(words_in(query))
    counts = [Counter(text) for text in texts]
    lengths = np.array([sum(count.values()) for count in counts], np.float64)
    usual = lengths.mean() if len(lengths) else 0.0
    norm = K1 * (1 - B + B * lengths / max(usual, 1.0))
    scores = np.zeros(len(counts))
    found = np.zeros(len(counts), np.bool_)
    for word in asked:
        times = np.array([count[word] for count in counts], np.float64)
        holding = int((times > 0).sum())
        rarity = max(math.log((len(counts) - holding + 0.5) / (holding + 0.5)), 1e-6)
        scores += rarity * times * (K1 + 1) / (times + norm)
        found |= times > 0
    return np.where(found, scores, -np.inf).astype(np.float32)
