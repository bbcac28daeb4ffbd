"""Why a page matched: the words under the patches, or where they lie, and pictures of both."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docpruner import Hit, Index
from docpruner.errors import (
    DocPrunerError,
    PageError,
    PruningWarning,
    SpecError,
)
from docpruner.explain import (
    PIXELS,
    Importances,
    answers,
    hit_picture,
    matched_words,
    page_picture,
    pruning_view,
    really_matches,
    region,
    sheet_picture,
    word_number,
)
from docpruner.hits import Match
from docpruner.pages.page_files import PageFiles
from docpruner.pictures import kept_picture
from docpruner.pictures.colours import WORDS
from docpruner.pictures.kept_patches import kept_key
from docpruner.pictures.legend import Ink, _broken
from docpruner.pictures.lettering import text_size
from docpruner.pictures.tags import Print, place_tags
from docpruner.types import PageEmbedding, cell_boxes
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


def made_hit(document, *matches: Match, files: PageFiles | None = None) -> Hit:
    return Hit(str(document), 1, 1.0, matches, files=files)


@pytest.fixture
def files() -> Iterator[PageFiles]:
    with closing(PageFiles()) as opened:
        yield opened


def drawn(path: Path, number: int) -> Image.Image:
    with closing(PageFiles()) as files:
        return files.picture(str(path), number, PIXELS)


def ink(image, box) -> float:
    """How much of a part of a picture is not white."""
    return float((np.asarray(image.crop(box).convert("L")) < 250).mean())


# ---------------------------------------------------------------------- in words


def test_matched_words_are_the_text_under_the_patches_the_best_first(hit):
    """`house` is the next one, with less than 35 % of the score of the name."""
    assert matched_words(hit) == [("Achterberg", "Achterberg"), ("guest", "Guest")]


def test_a_page_really_matches_if_a_word_that_counts_is_near_something(index):
    """Whatever the query, some vector of some page is the nearest."""
    (hit,) = index.search(GUEST_HOUSE, k=1)
    assert really_matches(hit)
    guest = hit.matches[[match.word for match in hit.matches].index("guest")]
    assert guest.closeness == pytest.approx(guest.score / guest.weight)
    assert 0.65 < guest.closeness < 1.3  # the very word, in two bits a number
    for query in ("\U0001f600", "penguin", "the", "chocolate cake"):
        assert not really_matches(index.search(query, k=1)[0])
    near = Match("rare", 0.05, ((0, 0, 1, 1),), weight=0.05)
    assert near.closeness == 1
    assert not really_matches(made_hit("a.pdf", near))  # it hardly counts


def test_the_marks_around_a_word_are_left_out_unless_there_is_nothing_else():
    made = made_hit("a.pdf", match((0, 0, 1, 1), word="(why?)"), match((0, 0, 1, 1), word="?"))
    assert [word for word, _ in matched_words(made)] == ["why", "?"]


@pytest.mark.parametrize(("score", "counts"), [(0.36, True), (0.34, False)])
def test_a_word_counts_from_35_per_cent_of_the_best_score(score, counts):
    made = made_hit("a.pdf", match((0, 0, 1, 1)), match((0, 0, 1, 1), word="weak", score=score))
    assert ("weak" in dict(matched_words(made))) is counts


def test_many_words_under_a_match_are_cut_off(files):
    whole = made_hit(FORM, match((0, 0, 1, 1)), files=files)
    ((_, text),) = matched_words(whole)
    assert text.endswith(" …")
    assert len(text.split()) == 5


@pytest.mark.parametrize("name", ["site-plan.png", "missing.pdf"])
def test_where_there_is_no_text_the_place_is_named(name, files):
    silent = made_hit(SAMPLES / name, match((0.9, 0.9, 1, 1)), files=files)
    assert matched_words(silent) == [("word", "bottom right")]


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
    page = drawn(FORM, 1)
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
    page = drawn(ARTICLE, 2)
    picture = page_picture(stored)
    assert picture.width == page.width
    assert page.height < picture.height < 1.3 * page.height
    grey = np.asarray(picture.convert("L"), float)

    def darkness(rows) -> float:
        x0, y0, x1, y1 = (stored.provenance.boxes[rows] * [*page.size, *page.size]).astype(int).T
        parts = zip(x0, y0, x1 + 1, y1 + 1, strict=True)
        return float(np.mean([grey[b:d, a:c].min() for a, b, c, d in parts]))

    kept = stored.provenance.kept
    assert darkness(kept) < darkness(~kept) - 50


def test_the_picture_of_what_was_kept_needs_no_importances(tmp_path):
    with Index.create(tmp_path / "index", encoder=builtin(), importances=False) as index:
        index.add(FORM)
        stored = index.page(str(FORM), 1)
    assert stored.provenance.importance is None
    assert page_picture(stored).width == drawn(FORM, 1).width


# ---------------------------------------------------------------------- in figures


def page_of(importance, boxes=None):
    count = len(importance)
    return PageEmbedding("a.pdf#1", np.eye(count), importance, (1, count), boxes=boxes)


def test_the_figures_are_those_of_the_threshold():
    """Powers of two are stored as they are. μ = 3.75, σ = √(28.75 / 4) ≈ 2.68; τ = 3.75 - 0.25·2.68
    ≈ 3.08 keeps the 4 and the 8."""
    seen = pruning_view(page_of([1, 2, 4, 8]))
    assert (seen.spec, seen.kept.tolist()) == ("docpruner:k=-0.25", [False, False, True, True])
    assert seen.mean == pytest.approx(3.75)
    assert seen.deviation == pytest.approx((28.75 / 4) ** 0.5)
    assert seen.tau == pytest.approx(3.75 - 0.25 * (28.75 / 4) ** 0.5)
    p = np.array([1, 2, 4, 8]) / 15
    assert seen.entropy == pytest.approx(-(p * np.log(p)).sum())
    assert dict(seen.legend)["kept"] == "2 (50%)"


def test_another_spec_has_its_own_threshold_or_none():
    """k = 1: τ = 6.43 keeps the 8. A fixed share has no threshold of the page's own."""
    strict = pruning_view(page_of([1, 2, 4, 8]), "docpruner:k=1")
    assert strict.kept.tolist() == [False, False, False, True]
    shared = pruning_view(page_of([1, 2, 4, 8]), "attention-ratio:ratio=0.5")
    assert shared.kept.sum() == 2
    assert shared.tau is None
    assert shared.mean == pytest.approx(3.75)


def test_robust_statistics_are_shown_as_they_were_used():
    """Nineteen 1s and a 128: Q3 + 3·IQR = 1, so μ = τ = 1 and σ = 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PruningWarning)
        seen = pruning_view(page_of([1.0] * 19 + [128.0]), "docpruner:k=1,statistics=robust")
    assert (seen.mean, seen.deviation, seen.tau) == pytest.approx((1, 0, 1))


def test_merged_patches_are_kept_in_fewer_vectors():
    seen = pruning_view(page_of([1, 2, 3, 4]), "pool-1d:factor=2")
    assert (seen.share, seen.vectors) == (1.0, 2)
    assert dict(seen.legend)["in vectors"] == "2"


def test_recognised_words_are_told_though_the_file_has_none(tmp_path):
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")
    letter = shutil.copy(SAMPLES / "landlord-letter-scan.tiff", tmp_path)
    with Index.create(tmp_path / "index", encoder=builtin()) as index:
        index.add(letter, ocr=True)
        Path(letter).unlink()
        for spec in ("docpruner:k=0", "docpruner:k=0+sem-cluster:factor=2"):
            index.prune(spec)
            hit = index.search("How much will the rent be from May on?")[0]
            told = dict(matched_words(hit))
            assert hit.page == 1
            assert "rent" in told["rent"]


def test_what_an_index_stores_and_what_if(index):
    stored = index.page(str(ARTICLE), 2)
    own = index.settings.spec
    seen = pruning_view(stored, stored_with=own)
    assert seen.vectors == seen.kept.sum() == stored.provenance.kept.sum() - stored.special
    assert pruning_view(stored, own).kept.tolist() == seen.kept.tolist()  # from the importances
    more, fewer = (pruning_view(stored, f"docpruner:k={k}").kept for k in (-0.5, 0.5))
    assert fewer.sum() < seen.kept.sum() < more.sum()
    assert (fewer <= seen.kept).all()
    assert (seen.kept <= more).all()


def test_what_if_looks_at_importances_only(index):
    stored = index.page(str(ARTICLE), 2)
    with pytest.raises(SpecError, match=r"sem-cluster looks at vectors.*docpruner explain FILE"):
        pruning_view(stored, "docpruner:k=0+sem-cluster:factor=4")
    bare = replace(stored, provenance=replace(stored.provenance, importance=None))
    assert pruning_view(bare).tau is pruning_view(bare).entropy is None
    with pytest.raises(SpecError, match="made without the importances"):
        pruning_view(bare, "docpruner:k=0")


def test_what_if_of_a_whole_index_is_the_sum_of_its_pages(index):
    with index.reader() as reader:
        importances = Importances.load(reader)
    found = importances.under("docpruner:k=0.5")
    seen = [pruning_view(index.page(*page), "docpruner:k=0.5") for page in index.pages()]
    assert found.pages == len(seen) == index.stats().pages
    special = sum(index.page(*page).special for page in index.pages())
    assert found.vectors == sum(page.kept.sum() for page in seen) + special
    assert found.vectors_unpruned == sum(page.patches for page in seen) + special
    assert found.bytes == found.vectors * index.settings.row_bytes
    assert sum(found.histogram) == found.pages
    assert found.vectors == index.prune("docpruner:k=0.5", dry_run=True).after
    with pytest.raises(SpecError, match="sem-cluster looks at vectors"):
        importances.under("sem-cluster")


def test_a_word_of_the_query_by_its_text(hit):
    words = [match.word for match in hit.matches]
    assert word_number(hit, "HOUSE") == words.index("house?")
    assert hit_picture(hit, word="guest").tobytes() == hit_picture(hit, word=7).tobytes()
    with pytest.raises(DocPrunerError, match="no word 'hotel' in the query; it has: What, did"):
        word_number(hit, "hotel")


def test_all_patches_behind_a_merged_vector_answer(tmp_path):
    spec = "docpruner:k=-0.25+sem-cluster:factor=4"
    with Index.create(tmp_path / "index", encoder=builtin(), spec=spec) as index:
        index.add(ARTICLE)
        (found,) = index.search("wake behind the turbine", k=1)
        page = index.page(found.document, found.page)
    on_page = [match for match in found.matches if match.boxes]  # not of the title page
    best = max(on_page, key=lambda match: match.score)
    (answer,) = [answer for answer in answers(found) if answer.number == found.matches.index(best)]
    groups = [page.provenance.boxes_of(vector) for vector in range(len(page.vectors))]
    assert best.boxes in groups
    assert answer.patches == len(best.boxes) > 1
    picture = np.asarray(hit_picture(found, word=answer.number), int)
    height = drawn(ARTICLE, found.page).height
    for x0, y0, x1, y1 in best.boxes:  # yellow: less blue than red
        x, y = int((x0 + x1) / 2 * picture.shape[1]), int((y0 + y1) / 2 * height)
        part = picture[y - 4 : y + 4, x - 4 : x + 4]
        assert (part[..., 0] - part[..., 2]).max() > 60


# ---------------------------------------------------------------------- more pictures


def test_the_picture_of_an_encoded_page_needs_its_image():
    page = page_of([1, 2, 3, 4])
    assert page_picture(page, Image.new("RGB", (400, 300)), spec="docpruner:k=0").width == 400
    with pytest.raises(DocPrunerError, match=r"a\.pdf#1: only a page of an index knows"):
        page_picture(page)


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_a_sheet_has_room_for_every_page(count):
    pages = [replace(page_of([1, 2, 3, 4]), name=f"a.pdf#{n}") for n in range(1, count + 1)]
    sheet = sheet_picture(pages, [Image.new("RGB", (300, 400), "white")] * count)
    assert sheet.width <= 1600
    assert 0.4 < sheet.height / sheet.width < 3.2


def test_a_sheet_says_what_can_not_be_shown():
    image = Image.new("RGB", (300, 400), "white")
    sheet = sheet_picture([page_of([1, 2]), "page 2: has no words"], [image] * 2)
    assert ink(sheet, (0, 0, *sheet.size)) > 0.01
    with pytest.raises(DocPrunerError, match="1 images for 2 pages"):
        sheet_picture([page_of([1, 2])] * 2, [image])


def test_a_second_view_of_the_whole_page_does_not_cover_the_first():
    """Four cells, all pruned but one, and a patch as large as the page that is kept."""
    cells = cell_boxes(np.arange(4), (2, 2))
    boxes = np.concatenate([cells, [[0, 0, 1, 1]]]).astype(np.float32)
    page = Image.new("RGB", (400, 400), "black")
    picture = kept_picture(page, boxes, None, np.array([True, False, False, False, True]))
    assert picture.getpixel((100, 100)) == (0, 0, 0)
    assert min(picture.getpixel((300, 300))) > 150


def test_a_tag_goes_where_nothing_is_printed():
    """Print everywhere but in a band below: the tag is there, though above is nearer."""
    page = np.tile(np.array([0, 255], np.uint8), (400, 200))
    page[300:340] = 255
    under = Print.of(Image.fromarray(page), 4)
    assert under.within((0, 0, 40, 20)) == 1
    assert under.within((0, 304, 40, 320)) == 0
    place = (100, 260, 140, 280)
    (spot,) = place_tags((400, 400), [((40, 20), place)], np.array([place]), 4, under)
    assert 300 <= spot[1] < spot[3] <= 340


QUESTIONS = (
    "Do waves make the wake behind the turbine shorter?",
    "How big is the tidal turbine and how deep is the water?",
    "How do the measured wakes compare with towing tank tests?",
    GUEST_HOUSE,
)


def test_tags_on_pages_full_of_text_hide_hardly_any_of_it(index, monkeypatch):
    hidden: list[float] = []

    def noted(*arguments):
        spots = place_tags(*arguments)
        hidden.extend(arguments[-1].within(spot) for spot in spots)
        return spots

    monkeypatch.setattr("docpruner.pictures.match.place_tags", noted)
    for hits in index.search_many(QUESTIONS, k=2):
        for hit in hits:
            hit_picture(hit)
    assert len(hidden) > 25
    assert np.mean(hidden) < 0.03  # of their area


@pytest.mark.parametrize("width", [160, 240, 433])
def test_a_legend_breaks_before_it_cuts(width):
    """The longest entry, `kept, by importance: low … high`, on a page as narrow as a receipt."""
    size = text_size((width, 8 * width))
    (entry, _) = kept_key(size, width)
    words = [part.text for part in entry if isinstance(part, Ink)]
    parts = [part for half in _broken(entry, size, width - 2 * size) for part in half]
    assert [part.text for part in parts if isinstance(part, Ink)] == words


# ---------------------------------------------------------------------- for all eyes

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
PROTANOPIA = [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
]
DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881],
]
TO_XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def lab(colours, eyes):
    """CIELAB of colours as these eyes see them; a distance of 10 is plain to see."""
    value = np.asarray(colours, float) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(eyes).T, 0, 1) @ np.array(TO_XYZ).T / [0.95047, 1, 1.08883]
    f = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


@pytest.mark.parametrize("eyes", [np.eye(3), PROTANOPIA, DEUTERANOPIA], ids=["all", "red", "green"])
def test_kept_and_pruned_and_more_and_less_important_look_apart(eyes):
    boxes = cell_boxes(np.arange(12), (1, 12))
    kept = np.arange(12) < 11
    page = Image.new("RGB", (480, 100), "white")
    picture = kept_picture(page, boxes, np.arange(12, 0, -1), kept)
    colours = lab([picture.getpixel((20 + 40 * cell, 50)) for cell in range(12)], eyes)
    assert np.linalg.norm(colours[:11] - colours[11], axis=1).min() > 10
    assert (np.diff(colours[:11, 0]) > 0).all()  # the less important, the lighter
    assert np.linalg.norm(colours[0] - colours[10]) > 40
    words = lab(WORDS, eyes)
    apart = np.linalg.norm(words[:, None] - words[None], axis=-1)
    assert apart[~np.eye(len(WORDS), dtype=bool)].min() > 10
