"""What a page is told by the first page of its document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docpruner import SPECIAL, Index, reducer
from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.encoders.builtin_title import letter_heights, standing_out
from docpruner.maxsim import maxsim
from docpruner.types import Page, Word

SAMPLES = Path(__file__).parents[2] / "src" / "docpruner" / "samples"

TITLE = "Quarterly report of Halvorsen Shipping to its shareholders"
REVENUE = "Total revenue rose to 412 million crowns because freight rates were higher."


def line(text: str, top: float, height: float = 0.02) -> tuple[Word, ...]:
    return tuple(
        Word(word, (i / 12, top, (i + 1) / 12, top + height)) for i, word in enumerate(text.split())
    )


def page(words: tuple[Word, ...], title: tuple[Word, ...] = ()) -> Page:
    return Page("page", lambda: Image.new("RGB", (10, 10)), words, title_page=title)


@pytest.fixture(scope="module")
def encoder() -> BuiltinEncoder:
    return BuiltinEncoder(threads=2)


def test_the_words_of_the_title_page_are_special_vectors(encoder):
    with_title, without = encoder.encode_pages(
        [page(line(REVENUE, 0.5), line(TITLE, 0.1)), page(line(REVENUE, 0.5))]
    )
    words = len(REVENUE.split())
    assert len(without.vectors) == words
    assert len(with_title.vectors) == words + len(TITLE.split())
    assert (with_title.vectors[:words] == without.vectors).all()
    assert (with_title.importance[:words] == without.importance).all()
    assert (with_title.cells[words:] == SPECIAL).all()
    length = encoder.edition.length_factor(words) * 0.9
    assert np.linalg.norm(with_title.vectors[words:], axis=1) == pytest.approx(length, abs=1e-3)


def test_only_so_many_stand_out(encoder):
    title = line(TITLE, 0.1) + line("one two three four five six seven eight nine ten eleven", 0.2)
    (found,) = encoder.encode_pages([page(line(REVENUE, 0.5), title)])
    assert (found.cells == SPECIAL).sum() == encoder.edition.title_words == 16


def test_plain_vectors_are_the_same(encoder):
    given = [page(line(REVENUE, 0.5), line(TITLE, 0.1))]
    (found,), (plain,) = encoder.encode_pages(given), encoder.encode_plain(given)
    assert found.vectors == pytest.approx(plain, abs=1e-6)


def test_the_first_edition_knows_no_title_page():
    first = BuiltinEncoder("builtin-v1", threads=1)
    (found,) = first.encode_pages([page(line(REVENUE, 0.5), line(TITLE, 0.1))])
    assert (found.cells != SPECIAL).all()


def test_of_two_equal_pages_the_one_of_the_named_document_comes_first_also_when_pruned(encoder):
    other = "Quarterly report of Brightwater Foods to its shareholders"
    pages = encoder.encode_pages(
        [page(line(REVENUE, 0.5), line(title, 0.1)) for title in (other, TITLE)]
    )
    (query,) = encoder.encode_queries(["What was the total revenue of Halvorsen Shipping?"])
    for spec in ("none", "docpruner:k=0"):
        other_score, score = maxsim(query, [reducer(spec)(each).vectors for each in pages])
        assert score > other_score + 0.1, spec


def test_large_words_stand_out_and_each_once():
    words = line("small print of no interest", 0.5) + line(
        "Halvorsen halvorsen, Shipping", 0.1, 0.06
    )
    found = standing_out(words, np.ones(len(words), np.float32), 2)
    assert [words[row].text for row in found] == ["Halvorsen", "Shipping"]


def test_signs_do_not_stand_out():
    words = line("— Shipping •", 0.1)
    assert standing_out(words, np.ones(3, np.float32), 5) == [1]


def test_a_word_that_runs_up_the_page_is_as_tall_as_it_is_wide():
    upright = line("some words of usual size", 0.5)
    turned = Word("arXiv:2310.06117v1", (0.02, 0.3, 0.04, 0.7))
    assert letter_heights((*upright, turned))[-1] == pytest.approx(1, abs=0.01)


def test_an_index_keeps_title_words_and_the_places_of_its_own(tmp_path):
    with Index.create(tmp_path / "my.idx") as index:
        index.add([SAMPLES / "annual-report.pdf"])
        first, second = (index.page(*name) for name in index.pages()[:2])
        stats = index.stats()
    assert (first.special, second.special) == (0, 11)  # all words of its title page
    assert len({word.box for word in second.words}) > 10
    assert stats.pruned > 0.3
