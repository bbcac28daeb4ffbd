"""An encoder that is quick and has nothing to load: every word has a vector of its own."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import numpy as np

from docpruner.types import FloatArray, Page, PageEmbedding

DIM = 16


class WordEncoder:
    """The vector and the importance of a word are made from its hash, the same everywhere."""

    name = "words"
    dim = DIM
    prompt = "default"
    pixels, reads = None, "words"

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds  # a page takes, so that there is time to disturb it

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        time.sleep(self._seconds * len(pages))
        return [self._page(page) for page in pages]

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return [np.stack([_vector(word) for word in text.split()]) for text in texts]

    def _page(self, page: Page) -> PageEmbedding:
        texts = [word.text for word in page.words] or ["nothing"]
        boxes = [word.box for word in page.words] or [(0.0, 0.0, 1.0, 1.0)]
        return PageEmbedding(
            page.name,
            np.stack([_vector(text) for text in texts]),
            np.array([_digest(text)[0] / 255 for text in texts], np.float32),
            (1, len(texts)),
            boxes=np.array(boxes, np.float32),
        )


def _digest(word: str) -> bytes:
    return hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=DIM).digest()


def _vector(word: str) -> FloatArray:
    vector = np.frombuffer(_digest(word), np.int8).astype(np.float32)
    return vector / np.float32(np.linalg.norm(vector))
