"""What is stored of a page whose words were recognised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docpruner.index.page_map import unpack
from docpruner.index.settings import Settings
from docpruner.index.store import PageStore
from docpruner.pipeline.records import RecordMaker
from docpruner.types import SPECIAL, Page, PageEmbedding, Word
from pipeline.made import WordEncoder

WORDS = (Word("rent", (0.0, 0.0, 0.2, 0.1)), Word("May", (0.3, 0.0, 0.4, 0.1)))


class MarkedEncoder(WordEncoder):
    """Puts a special token before the words."""

    def encode_pages(self, pages) -> list[PageEmbedding]:
        return [self._marked(page) for page in super().encode_pages(pages)]

    def _marked(self, page: PageEmbedding) -> PageEmbedding:
        first = np.ones((1, page.dim), np.float32)
        return replace(
            page,
            vectors=np.concatenate([first, page.vectors]),
            importance=np.append(0, page.importance),
            cells=np.append(SPECIAL, page.cells),
            boxes=np.concatenate([np.zeros((1, 4)), page.boxes]),
        )


@pytest.mark.parametrize(
    ("encoder", "source", "stored"),
    [
        (WordEncoder(), "ocr", ("rent", "May")),
        (WordEncoder(), "text layer", ()),  # they are in the file
        (MarkedEncoder(), "ocr", ()),  # which vector is which word, is not known
    ],
)
def test_recognised_words_are_stored_where_each_has_a_vector(tmp_path, encoder, source, stored):
    settings = Settings.new(encoder.name, encoder.dim, "none")
    page = Page("scan.png#1", lambda: None, WORDS, words_from=source)
    with PageStore.create(tmp_path / "index", settings) as store:
        (made,) = RecordMaker(store, encoder, settings).make([("scan.png", page)])
    assert unpack(made.record.map).words == stored
