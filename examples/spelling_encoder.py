"""An encoder of one's own: words by the letters they are made of. See "Add an encoder" in
CONTRIBUTING.md.

    Index.create("my.idx", encoder=SpellingEncoder())

A package that declares the entry point `spelling-1 = "spelling_encoder:SpellingEncoder"` in the
group `docpruner.encoders` makes it known by name: `docpruner index my.idx … --encoder spelling-1`.

Words that are spelt alike have vectors alike, so it forgives typing errors and knows no meaning. A
word is the more important the longer it is.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from docpruner.encoders.registry import Reads
from docpruner.errors import EncoderError
from docpruner.types import FloatArray, Page, PageEmbedding, Prompt, Word

DIM = 256
NOTHING = Word("", (0.0, 0.0, 1.0, 1.0))


class SpellingEncoder:
    name = "spelling-1"  # with a version: what it gives may never change under one name
    dim = DIM
    prompt: Prompt = "default"
    reads: Reads = "words"
    pixels = None  # so pages come without their pictures

    def __init__(self, name: str = name) -> None:
        """`name` is what was asked for; here there is nothing to choose."""
        if name != self.name:
            raise EncoderError(f"no encoder {name}: this is {self.name}, and has no options")

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        for number, text in enumerate(texts):
            if not text.split():
                raise EncoderError(f"query {number} is empty")
        return [np.stack([spelling(word) for word in text.split()]) for text in texts]

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        return [self._encoded(page) for page in pages]

    def encode_plain(self, pages: Sequence[Page]) -> list[FloatArray]:
        return [page.vectors for page in self.encode_pages(pages)]

    def _encoded(self, page: Page) -> PageEmbedding:
        words = page.words or (NOTHING,)
        return PageEmbedding(
            name=page.name,
            vectors=np.stack([spelling(word.text) for word in words]),
            importance=np.array([len(word.text) for word in words], np.float32),
            grid=(1, len(words)),
            boxes=np.array([word.box for word in words], np.float32),
        )


def spelling(word: str) -> FloatArray:
    """A vector of unit length, of the runs of three letters in a word."""
    letters = f"^{word.casefold()}$"
    vector = np.zeros(DIM, np.float32)
    for start in range(max(1, len(letters) - 2)):
        vector[zlib.crc32(letters[start : start + 3].encode()) % DIM] += 1
    return vector / np.linalg.norm(vector)
