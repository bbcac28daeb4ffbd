"""Searches by vectors, by text, and by both; and what a hit shows of its text."""

from __future__ import annotations

import numpy as np
import pytest

from docpruner.errors import ScoringError, TextSearchError
from docpruner.facade import Index
from docpruner.hits import Excerpt, Hit, Match, excerpt_of
from docpruner.search.hybrid import TEXT_WEIGHT, fused
from docpruner.search.searcher import Question, find
from docpruner.stores.memory import MemoryStore
from docpruner.stores.records import RankedPage
from docpruner.types import Filter, Word
from pipeline.made import SteppingEncoder, text_pdf
from stores.made import X, Y, Z, commit, document, made_page, settings_of

QUAY = Question(np.float32([X]), ("quay",), "quay")


@pytest.fixture
def store():
    """By vectors the first is best for X, by text the third for quay."""
    with MemoryStore.create("memory://", settings_of()) as made:
        pages = [
            made_page(1, [X], text="tide"),
            made_page(2, [0.9 * X], text="the quay"),
            made_page(3, [Y], text="quay quay"),
            made_page(4, [Z], text="the pilot"),
            *(made_page(number, [-X], text="crane") for number in range(5, 9)),
        ]
        commit(made, document("a.pdf", pages), document("b.pdf", [made_page(1, [X], text="quay")]))
        yield made


def pages_by(store, mode, question=QUAY, k=3, which=None) -> list[str]:
    (hits,) = find(store, [question], k, which, mode=mode)
    return [hit.name for hit in hits]


def test_each_mode_has_its_own_order(store):
    a = Filter(documents=("a.pdf",))
    assert pages_by(store, "vectors", which=a) == ["a.pdf#1", "a.pdf#2", "a.pdf#3"]
    assert pages_by(store, "text", which=a) == ["a.pdf#3", "a.pdf#2"]
    assert pages_by(store, "hybrid", which=a) == ["a.pdf#2", "a.pdf#1", "a.pdf#3"]
    assert pages_by(store, "hybrid")[0] == "b.pdf#1"


def test_a_hit_by_text_has_its_matches_too(store):
    (hits,) = find(store, [QUAY], 1, Filter(documents=("a.pdf",)), mode="text")
    (match,) = hits[0].matches
    assert (hits[0].page, match.word, match.score) == (3, "quay", 0.0)
    assert hits[0].score > 0


def test_both_scores_count_in_deviations_from_their_means():
    """By vectors 3, 1 and 2: 1.22, -1.22 and 0 deviations; by text 0, 6 and none."""
    by_vectors = [RankedPage("a", 1, 3.0), RankedPage("b", 1, 2.0), RankedPage("a", 2, 1.0)]
    by_text = [RankedPage("a", 2, 6.0)]
    seen, said = 1.5**0.5, 2**0.5
    assert {page.name: page.score for page in fused(by_vectors, by_text)} == pytest.approx(
        {
            ("a", 1): (1 - TEXT_WEIGHT) * seen - TEXT_WEIGHT * said / 2,
            ("b", 1): -TEXT_WEIGHT * said / 2,
            ("a", 2): -(1 - TEXT_WEIGHT) * seen + TEXT_WEIGHT * said,
        },
        abs=1e-6,
    )
    assert fused([], []) == []
    assert [page.score for page in fused(by_vectors[:1], [])] == [0.0]


def test_a_page_that_only_its_words_find_is_among_the_candidates(store, monkeypatch):
    monkeypatch.setattr("docpruner.search.hybrid.CANDIDATES", 1)
    assert set(pages_by(store, "hybrid", k=1)) <= {"b.pdf#1", "a.pdf#1"}
    (hits,) = find(store, [QUAY], 9, Filter(documents=("a.pdf",)), mode="hybrid")
    assert {hit.page for hit in hits} >= {1, 2, 3}


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_without_words_there_is_nothing_to_search_by(store, mode):
    with pytest.raises(ScoringError, match="needs a query in words"):
        pages_by(store, mode, Question.of(np.float32([X])))
    with MemoryStore.create("memory://", settings_of()) as silent:
        commit(silent, document("a.pdf", [[X]]))
        with pytest.raises(TextSearchError, match="no words stored, as it was made by an earlier"):
            pages_by(silent, mode)


def test_an_unknown_mode_is_refused(store):
    with pytest.raises(ScoringError, match="no mode 'both'; there are: vectors, text, hybrid"):
        pages_by(store, "both")


def test_the_words_of_pictures_are_stored_too(tmp_path):
    """An encoder that sees is given pictures; the text layer is stored beside its vectors."""
    path = text_pdf(tmp_path / "a.pdf", "part AX-4711", "nothing else")
    with Index.create(None, encoder=SteppingEncoder()) as index:
        index.add(path)
        assert [hit.page for hit in index.search("AX-4711", mode="text")] == [1]
        assert index.search("else", mode="text")[0].text == "nothing else"
        stored = index.page(str(path), 1)
        assert (stored.words_from, stored.text.plain) == ("text layer", "part AX-4711")


# ---------------------------------------------------------------------- snippets


def hit_of(*matches: Match, words: str, query: str = "") -> Hit:
    placed = tuple(
        Word(text, (number / 100, 0.0, (number + 1) / 100, 0.1))
        for number, text in enumerate(words.split())
    )
    return Hit("a.pdf", 1, 1.0, matches, query=query, stored_words=lambda: placed)


def test_a_snippet_marks_what_matches():
    """The third word lies where the match is; the last is what the query says."""
    match = Match("harbour", 0.9, ((0.02, 0.0, 0.03, 0.1),))
    hit = hit_of(match, words="in the port of Kiel, harbour", query="the harbour")
    assert hit.snippet(mark=("[", "]")) == "in the [port] of Kiel, [harbour]"
    assert hit.snippet(12) == "… harbour"
    assert hit.excerpt().spans == ((7, 11), (21, 28))


def test_words_that_an_encoder_knows_in_pieces_are_marked_whole():
    pieces = [Match(piece, 0.1, ()) for piece in ("AX", "-", "47", "11")]
    hit = hit_of(*pieces, words="order part AX-4711 of it", query="where is part AX-4711?")
    assert hit.snippet(mark=("[", "]")) == "order [part] [AX-4711] of it"


def test_what_the_encoder_gives_no_weight_is_not_marked():
    hit = hit_of(
        Match("where", 0.0, (), weight=0.01), Match("tide", 0.9, ()),
        words="where the tide is", query="where tide",
    )  # fmt: skip
    assert hit.snippet(mark=("[", "]")) == "where the [tide] is"


def test_a_page_without_words_has_an_empty_snippet():
    assert hit_of(words="").snippet() == ""
    assert excerpt_of([], [], 10) == Excerpt("")
    assert excerpt_of(["a", "b"], [0, 0], 10) == Excerpt("a b")
