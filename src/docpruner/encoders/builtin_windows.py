"""From the words of a page to the windows that the built-in model reads.

A page longer than one window is cut into windows of equal length that overlap by `OVERLAP` word
pieces, at word boundaries. A word's vector and importance come from the one window in which it
stands further from an edge, so every word has some context on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from docpruner.types import FloatArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WINDOW = 254  # word pieces, without the global token and the end
OVERLAP = 32
PIECES_OF_A_WORD = 12  # a row of leader dots or a hash is cut here

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Window:
    ids: Ids  # (pieces + 2,), with the global token first
    pool: FloatArray  # (words, pieces + 2): which pieces make each of the words that it owns
    words: tuple[int, int]  # which words of the page it owns, half open


@dataclass(frozen=True, eq=False)
class Batch:
    """Windows of one shape; zero rows of `pool` are padding."""

    ids: Ids
    mask: Ids
    pool: FloatArray


class Windows:
    """Cuts texts with one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_truncation()  # as published it pads and cuts every text to 128 pieces
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        self.start, self.end = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self.unknown = vocabulary["[UNK]"]
        self.is_sign = np.zeros(max(vocabulary.values()) + 1, bool)
        for piece, number in vocabulary.items():
            self.is_sign[number] = not any(map(str.isalnum, piece))

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The word pieces of each word; at least one."""
        encoding = self.tokenizer.encode(words, is_pretokenized=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for number, word in zip(encoding.ids, encoding.word_ids, strict=True):
            if word is not None and len(pieces[word]) < PIECES_OF_A_WORD:
                pieces[word].append(number)
        return [numbers or [self.unknown] for numbers in pieces]

    def cut(self, words: Sequence[str]) -> list[Window]:
        pieces = self.pieces(words)
        ends = np.cumsum([len(numbers) for numbers in pieces])
        starts = ends - [len(numbers) for numbers in pieces]
        return [
            self._window(pieces[first:last], own[0] - first, own[1] - first, own)
            for first, last, own in spans(starts, ends)
        ]

    def _window(
        self, pieces: list[list[int]], first: int, last: int, own: tuple[int, int]
    ) -> Window:
        ids = [self.start, *(number for numbers in pieces for number in numbers), self.end]
        pool = np.zeros((last - first, len(ids)), np.float32)
        column = 1 + sum(map(len, pieces[:first]))
        for row, numbers in enumerate(pieces[first:last]):
            share = (~self.is_sign[numbers]).astype(np.float32)  # "report," means report
            if not share.any():
                share[:] = 1.0
            pool[row, column : column + len(numbers)] = share / share.sum()
            column += len(numbers)
        return Window(np.array(ids, np.int64), pool, own)


def spans(starts: Ids, ends: Ids) -> list[tuple[int, int, tuple[int, int]]]:
    """For each window the words it reads, and those of them that it owns."""
    total = int(ends[-1])
    count = max(1, -(-(total - OVERLAP) // (WINDOW - OVERLAP)))
    while True:
        found = _even_spans(starts, ends, count)
        if all(ends[last - 1] - starts[first] <= WINDOW for first, last, _ in found):
            return found
        count += 1  # word boundaries made one too long


def _even_spans(starts: Ids, ends: Ids, count: int) -> list[tuple[int, int, tuple[int, int]]]:
    total, words = int(ends[-1]), len(starts)
    cuts = np.searchsorted(starts, np.linspace(0, total, count + 1)[:-1])
    bounds = [*(int(cut) for cut in cuts), words]
    found = []
    for own in pairwise(bounds):
        if own[0] == own[1]:
            continue
        first = int(np.searchsorted(starts, starts[own[0]] - OVERLAP // 2))
        last = int(np.searchsorted(ends, ends[own[1] - 1] + OVERLAP // 2, side="right"))
        found.append((first, max(last, own[1]), own))
    return found


def stack(windows: Sequence[Window]) -> Batch:
    length = max(len(window.ids) for window in windows)
    words = max(len(window.pool) for window in windows)
    ids = np.zeros((len(windows), length), np.int64)
    mask = np.zeros_like(ids)
    pool = np.zeros((len(windows), words, length), np.float32)
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size], mask[row, :size] = window.ids, 1
        pool[row, : len(window.pool), :size] = window.pool
    return Batch(ids, mask, pool)
