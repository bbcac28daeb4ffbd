"""Why a page matched: the words under the patches, or where they lie, and pictures of both."""

from __future__ import annotations

import numpy as np
import pytest

from docpruner import Hit, Index
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import PIXELS, hit_picture, kept_page_picture, matched_words, region
from docpruner.pages.document import draw_page
from docpruner.types import Match
from pipeline.made import SAMPLES, builtin

ARTICLE, FORM = SAMPLES / "tidal-energy-article.pdf", SAMPLES / "travel-expense-form.pdf"
GUEST_HOUSE = "What did Dr Achterberg pay for the guest house?"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("explain") / "index", encoder=builtin()) as made:
        made.add([ARTICLE, FORM])
        yield made


@pytest.fixture(scope="module")
def hit(index) -> Hit:
    (found,) = index.search(GUEST_HOUSE, documents="travel*", pages=(1, 1))
    return found


def match(*boxes, word="word", score=1.0) -> Match:
    return Match(word, score, boxes)


def made_hit(document, *matches: Match) -> Hit:
    return Hit(str(document), 1, 1.0, matches)


def ink(image, box) -> float:
    """How much of a part of a picture is not white."""
    return float((np.asarray(image.crop(box).convert("L")) < 250).mean())


# ---------------------------------------------------------------------- in words


def test_matched_words_are_the_text_under_the_patches_the_best_first(hit):
    """`pay` is the next one, at 34 % of the score of `guest`."""
    assert matched_words(hit) == [
        ("guest", "Guest"),
        ("Achterberg", "Achterberg"),
        ("house", "house"),
    ]


def test_the_marks_around_a_word_are_left_out_unless_there_is_nothing_else():
    made = made_hit("a.pdf", match((0, 0, 1, 1), word="(why?)"), match((0, 0, 1, 1), word="?"))
    assert [word for word, _ in matched_words(made)] == ["why", "?"]


@pytest.mark.parametrize(("score", "counts"), [(0.36, True), (0.34, False)])
def test_a_word_counts_from_35_per_cent_of_the_best_score(score, counts):
    made = made_hit("a.pdf", match((0, 0, 1, 1)), match((0, 0, 1, 1), word="weak", score=score))
    assert ("weak" in dict(matched_words(made))) is counts


def test_many_words_under_a_match_are_cut_off():
    whole = made_hit(FORM, match((0, 0, 1, 1)))
    ((_, text),) = matched_words(whole)
    assert text.endswith(" …")
    assert len(text.split()) == 5


@pytest.mark.parametrize("name", ["site-plan.png", "missing.pdf"])
def test_where_there_is_no_text_the_place_is_named(name):
    assert matched_words(made_hit(SAMPLES / name, match((0.9, 0.9, 1, 1)))) == [
        ("word", "bottom right")
    ]


def test_a_match_of_a_special_token_has_no_place_and_is_left_out():
    assert matched_words(made_hit("a.pdf", match(score=9.0))) == []
    told = matched_words(made_hit("a.pdf", match(score=9.0), match((0, 0, 1, 1), word="other")))
    assert told == [("other", "middle centre")]


def test_matches_that_say_nothing_are_left_out():
    assert matched_words(made_hit("a.pdf", match((0, 0, 1, 1), score=-1.0))) == []


@pytest.mark.parametrize(
    ("boxes", "name"),
    [
        ([(0, 0, 0.2, 0.2)], "top left"),
        ([(0.4, 0, 0.6, 0.1)], "top centre"),
        ([(0.8, 0.4, 1, 0.6)], "middle right"),
        ([(0, 0.4, 0.1, 0.6)], "middle left"),
        ([(0, 0, 1, 1)], "middle centre"),
        ([(0.4, 0.9, 0.6, 1)], "bottom centre"),
        ([(1, 1, 1, 1)], "bottom right"),
        ([(0, 0, 0.1, 0.1), (0.9, 0, 1, 0.1)], "top centre"),
    ],
)
def test_regions_are_thirds_of_the_page(boxes, name):
    assert region(match(*boxes)) == name


# ---------------------------------------------------------------------- as pictures


def test_the_picture_of_a_hit_is_the_page_with_a_legend_below(hit):
    page = draw_page(FORM, 1, PIXELS)
    picture = hit_picture(hit)
    assert picture.width == page.width
    assert page.height < picture.height < 1.3 * page.height
    assert ink(picture, (0, page.height, page.width, picture.height)) > 0.001
    assert np.abs(np.asarray(picture.crop((0, 0, *page.size)), int) - np.asarray(page)).max() > 50


def test_one_word_of_the_query_can_be_shown_alone(hit):
    words = [match.word for match in hit.matches]
    alone = hit_picture(hit, word=words.index("guest"))
    assert alone.width == hit_picture(hit).width
    assert alone.tobytes() != hit_picture(hit).tobytes()
    with pytest.raises(DocPrunerError, match=f"word 99 of a query of {len(words)}"):
        hit_picture(hit, word=99)


def test_a_hit_whose_document_is_gone_has_no_picture():
    with pytest.raises(PageError, match=r"missing\.pdf: does not exist"):
        hit_picture(made_hit(SAMPLES / "missing.pdf", match((0, 0, 1, 1))))


def test_the_picture_of_what_was_kept_shows_kept_words_darker_than_pruned_ones(index):
    stored = index.page(str(ARTICLE), 2)
    page = draw_page(ARTICLE, 2, PIXELS)
    picture = kept_page_picture(stored)
    assert picture.width == page.width
    assert page.height < picture.height < 1.3 * page.height
    grey = np.asarray(picture.convert("L"), float)

    def darkness(rows) -> float:
        x0, y0, x1, y1 = (stored.map.boxes[rows] * [*page.size, *page.size]).astype(int).T
        parts = zip(x0, y0, x1 + 1, y1 + 1, strict=True)
        return float(np.mean([grey[b:d, a:c].min() for a, b, c, d in parts]))

    kept = stored.map.kept
    assert darkness(kept) < darkness(~kept) - 50


def test_the_picture_of_what_was_kept_needs_no_importances(tmp_path):
    with Index.create(tmp_path / "index", encoder=builtin(), importances=False) as index:
        index.add(FORM)
        stored = index.page(str(FORM), 1)
    assert stored.map.importance is None
    assert kept_page_picture(stored).width == draw_page(FORM, 1, PIXELS).width
