"""What is stored of a page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from docpruner.errors import PageError
from docpruner.pipeline.record_maker import RecordMaker
from docpruner.stores.page_text import PageText
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
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


def record_of(encoder, page: Page, *, text: bool = True) -> StoredPage:
    settings = Settings.new(encoder.name, encoder.dim, "none", text=text)
    (embedding,) = encoder.encode_pages([page])
    return RecordMaker(settings).make("scan.png", page, embedding).record


@pytest.mark.parametrize("source", ["ocr", "text layer"])
@pytest.mark.parametrize(
    ("encoder", "with_places"),
    [(WordEncoder(), False), (MarkedEncoder(), False)],  # the map has the boxes of all words
    ids=["words", "marked"],
)
def test_words_are_stored_once_and_their_places_too(encoder, with_places, source):
    page = Page("scan.png#1", lambda: None, WORDS, words_from=source)
    record = record_of(encoder, page)
    assert record.text == PageText.of(WORDS, places=with_places)
    assert record.provenance.words == ()
    assert [word.text for word in record.words] == ["rent", "May"]
    found = np.array([word.box for word in record.words])
    assert np.abs(found - [word.box for word in WORDS]).max() < 0.001


def test_words_are_not_stored_where_nobody_wants_them():
    record = record_of(WordEncoder(), Page("a#1", lambda: None, WORDS), text=False)
    assert (record.text, record.text.is_stored) == (PageText(), False)
    assert record.words == ()


def test_a_page_without_words_says_so():
    record = record_of(WordEncoder(), Page("a#1", lambda: None))
    assert (record.text.is_stored, record.words, record.text.plain) == (True, (), "")


def test_a_copy_has_the_words_of_its_own_page():
    """Two pages may look the same to an encoder that sees, and only one have a text layer."""
    encoder = MarkedEncoder()
    like = record_of(encoder, Page("a.png#1", lambda: None, WORDS[:1]))
    maker = RecordMaker(Settings.new(encoder.name, encoder.dim, "none"))
    copy = maker.copied(like, "b.pdf", Page("b.pdf#1", lambda: None, WORDS)).record
    assert [word.text for word in copy.words] == ["rent", "May"]
    assert copy.vectors is like.vectors


def test_a_record_needs_no_encoder_if_the_page_comes_with_its_embedding():
    (embedding,) = WordEncoder().encode_pages([Page("a.pdf#2", lambda: None, WORDS)])
    page = Page("a.pdf#2", lambda: None, number=2, embedding=embedding)
    settings = Settings.new("words", 16, "none", "float32")
    made = RecordMaker(settings).make("a.pdf", page)
    assert (made.record.document, made.record.number) == ("a.pdf", 2)
    assert np.array_equal(made.record.vectors.decode(), embedding.vectors)


def test_an_embedding_of_other_dimensions_is_a_problem_of_its_page():
    (embedding,) = WordEncoder().encode_pages([Page("a.pdf#2", lambda: None, WORDS)])
    page = Page("a.pdf#2", lambda: None, number=2, embedding=embedding)
    made = RecordMaker(Settings.new("other", 8, "none")).make("a.pdf", page)
    assert isinstance(made.record, PageError)
    assert str(made.record).startswith("a.pdf#2: has vectors of 16 dimensions, the index 8")


def test_odd_thresholds_are_told_from_the_reduction_in_any_thread():
    """Warnings are caught for the whole process, so two threads would count each other's."""
    settings = Settings.new("words", 16, "docpruner:k=0")
    same = tuple(Word(text, (0.0, 0.0, 1.0, 1.0)) for text in ("four", "five"))
    other = tuple(Word(text, (0.0, 0.0, 1.0, 1.0)) for text in ("a", "bb", "cccccc", "ddddddd"))
    pages = [("a.pdf", Page("a.pdf#1", lambda: None, same)), ("b.pdf", Page("b#1", print, other))]

    def count(_: int) -> int:
        maker = RecordMaker(settings)
        encoded = WordEncoder().encode_pages([page for _, page in pages])
        both = list(zip(pages, encoded, strict=True))
        made = [maker.make(*page, embedding) for page, embedding in both * 10]
        return sum(result.odd_threshold for result in made)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(count, range(64))) == {10}
