"""An encoder that looks at pictures, quickly: what colour each part of a page has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL.Image import Image

from docpruner.types import FloatArray, Page, PageEmbedding

SIDE, DIM = 4, 16


class ColourEncoder:
    name, dim, prompt, pixels, reads = "colours", DIM, "default", 100_000, "pixels"

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return [np.ones((len(text.split()), DIM), np.float32) / 4 for text in texts]

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        return [self._page(page) for page in pages]

    def _page(self, page: Page | Image) -> PageEmbedding:
        picture = page if isinstance(page, Image) else page.render()
        colours = np.asarray(picture.convert("RGB").resize((SIDE, SIDE)), np.float32) / 255
        vectors = np.zeros((SIDE * SIDE, DIM), np.float32)
        vectors[:, :3] = colours.reshape(-1, 3) * 2 - 1
        vectors[:, 3] = 0.3
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return PageEmbedding("page", vectors, np.ones(SIDE * SIDE), (SIDE, SIDE))
