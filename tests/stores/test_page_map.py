"""What is stored beside the vectors of a page comes back, to the stated precision."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docpruner.errors import DamagedIndexError
from docpruner.pages.reader import pages_of
from docpruner.reduce import reducer
from docpruner.reduce.keep import keep_patches, merge_patches
from docpruner.stores.page_map import map_of, rounded, rounded_importance
from docpruner.stores.page_map_bytes import (
    BY_CODE,
    FINE,
    HEADER,
    IMPORTANCES,
    MERGED,
    OWN_BOXES,
    OWN_CELLS,
    WORDS,
    pack,
    unpack,
)
from docpruner.types import SPECIAL, Page, PageEmbedding, Reduction
from pipeline.made import SAMPLE_PDFS, builtin

FIRST_BOX = [0.081807, 0.114042, 0.223199, 0.175336]  # of the first word of that map

share = st.floats(0, 1, width=32)
weight = st.just(0.0) | st.floats(2.0**-60, 2.0**20, width=32)


@st.composite
def pages(draw) -> PageEmbedding:
    """Grids in order, or cells of any order with special tokens among them; own boxes or none."""
    grid = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    size = grid[0] * grid[1]
    cells = draw(
        st.none()
        | st.lists(st.integers(SPECIAL, size - 1), min_size=1, max_size=30).filter(
            lambda drawn: max(drawn) > SPECIAL
        )
    )
    count = size if cells is None else len(cells)
    importance = draw(st.lists(weight, min_size=count, max_size=count))
    boxes = None
    if draw(st.booleans()):
        corners = draw(st.lists(st.tuples(*[share] * 4), min_size=count, max_size=count))
        boxes = [(min(a, b), min(c, d), max(a, b), max(c, d)) for a, b, c, d in corners]
    page = PageEmbedding("made", np.ones((count, 1)), importance, grid, cells, boxes)
    if draw(st.booleans()):
        page = replace(page, centrality=draw(st.lists(weight, min_size=count, max_size=count)))
    return rounded(page) if draw(st.booleans()) else page


@st.composite
def reduced_pages(draw) -> tuple[PageEmbedding, Reduction]:
    page = draw(pages())
    patches = len(page.patches)
    if draw(st.booleans()):
        kept = draw(st.lists(st.booleans(), min_size=patches, max_size=patches))
        return page, keep_patches(page, np.array([True, *kept[1:]]))
    labels = draw(st.lists(st.integers(0, patches), min_size=patches, max_size=patches))
    return page, merge_patches(page, np.array(labels, np.int32))


def grid_page(rows: int, columns: int, seed: int = 0) -> PageEmbedding:
    importance = np.random.default_rng(seed).lognormal(size=rows * columns)
    return PageEmbedding("made", np.ones((rows * columns, 1)), importance, (rows, columns))


def packed(page: PageEmbedding, spec: str = "docpruner:k=-0.25") -> bytes:
    page = rounded(page)
    return pack(map_of(page, reducer(spec)(page)))


def with_header(blob: bytes, **changed: int) -> bytes:
    names = ("version", "flags", "rows", "columns", "vectors", "stored", "scale")
    values = dict(zip(names, HEADER.unpack_from(blob), strict=True)) | changed
    return HEADER.pack(*values.values()) + blob[HEADER.size :]


@given(reduced_pages(), st.booleans())
def test_a_map_comes_back(reduced, importances):
    page, reduction = reduced
    after = unpack(pack(map_of(page, reduction, importances=importances)))
    assert after.grid == page.grid
    assert np.array_equal(after.cells, page.cells)
    off = np.abs(after.boxes - page.boxes)
    assert off[:, [0, 2]].max() <= 0.5 / 1023 + 1e-6
    assert off[:, [1, 3]].max() <= 0.5 / 511 + 1e-6
    assert np.array_equal(after.sources, reduction.sources)
    assert np.array_equal(after.offsets, reduction.offsets)
    assert np.array_equal(after.special, reduction.special)
    assert np.array_equal(after.patches, page.patches)
    if not importances:
        assert after.importance is after.centrality is None
        return
    if page.centrality is None:
        assert after.centrality is None
    else:
        assert np.array_equal(after.centrality, rounded(page).centrality)
    on_page = np.where(page.cells == SPECIAL, 0, page.importance)
    if np.array_equal(rounded_importance(page), on_page):
        assert np.array_equal(after.importance, on_page)
    else:  # finer ones are not made coarser than float16
        slack = on_page * 2.0**-10 + on_page.max() * 2.0**-24
        assert (np.abs(after.importance - on_page) <= slack).all()


@given(reduced_pages(), st.data())
def test_recognised_words_come_back(reduced, data):
    page, reduction = reduced
    count = len(page.vectors)
    text = st.text(st.characters(exclude_characters="\n"), max_size=6)
    words = tuple(data.draw(st.lists(text, min_size=count, max_size=count)))
    after = unpack(pack(map_of(page, reduction, words=words)))
    assert after.words == words
    assert np.array_equal(after.sources, reduction.sources)
    for vector in range(len(reduction.vectors)):
        wanted = tuple(words[row] for row in reduction.sources_of(vector))
        assert after.words_of(vector) == wanted


def test_a_word_takes_one_line_and_without_words_there_are_none():
    page = grid_page(1, 2)
    stored = map_of(page, reducer("none")(page), words=("two\nlines", "one"))
    assert unpack(pack(stored)).words == ("two lines", "one")
    plain = unpack(packed(page, "none"))
    assert (plain.words, plain.words_of(0)) == ((), ())


def test_words_do_not_keep_the_global_vector_out():
    page = replace(grid_page(1, 2), global_vector=np.array([0.5]))
    after = unpack(pack(map_of(page, reducer("none")(page), words=("a", "b"))))
    assert (after.words, after.global_vector) == (("a", "b"), [0.5])


@given(reduced_pages())
def test_packing_again_rounds_no_further(reduced):
    once = unpack(pack(map_of(*reduced)))
    twice = unpack(pack(once))
    assert np.array_equal(twice.boxes, once.boxes)
    assert np.array_equal(twice.importance, once.importance)
    assert np.array_equal(twice.centrality, once.centrality)


@given(pages())
def test_importances_are_rounded_once_and_by_little(page):
    once = rounded_importance(page)
    assert np.array_equal(rounded_importance(replace(page, importance=once)), once)
    given_importance = np.where(page.cells == SPECIAL, 0, page.importance)
    assert ((once == 0) == (given_importance == 0)).all()
    told_apart = given_importance > given_importance.max() * 2.0**-50
    off = np.abs(once - given_importance)[told_apart]
    assert (off <= 0.0719 * given_importance[told_apart]).all()


def test_boxes_of_the_grid_cost_nothing_and_are_exact():
    page = grid_page(7, 9)
    own = replace(page, boxes=np.minimum(page.boxes + 1e-3, 1))
    assert len(packed(own)) > len(packed(page))
    assert np.array_equal(unpack(packed(page)).boxes, page.boxes)


def test_a_merged_vector_has_the_boxes_of_all_its_patches():
    page = PageEmbedding("made", np.ones((3, 1)), np.ones(3), (1, 2), [1, SPECIAL, 0])
    merged = map_of(page, merge_patches(page, np.zeros(2, np.int32)))
    assert unpack(pack(merged)).boxes_of(0) == ((0.5, 0.0, 1.0, 1.0), (0.0, 0.0, 0.5, 1.0))
    assert unpack(pack(merged)).boxes_of(1) == ()


def test_kept_tells_which_patches_a_stored_vector_came_from():
    page = PageEmbedding("made", np.ones((4, 1)), [1, 9, 2, 8], (2, 2))
    after = unpack(packed(page, "docpruner:k=0"))  # of 1, 9, 2, 8 those above the mean, 5
    assert after.kept.tolist() == [False, True, False, True]


def test_a_grid_of_patches_takes_at_most_600_bytes():
    for seed in range(20):
        assert len(packed(grid_page(32, 24, seed))) <= 600
        page = replace(
            grid_page(32, 24), importance=np.random.default_rng(seed).exponential(size=768)
        )
        assert len(packed(page)) <= 600


def test_a_page_of_400_words_takes_at_most_a_kilobyte_and_a_half():
    """Pages of the sample article, set one below the other until they have 400 words."""
    article = next(path for path in SAMPLE_PDFS if "article" in path.name)
    words = [word for page in pages_of(article) for word in page.words]
    for start in range(0, len(words) - 400, 200):
        chosen = tuple(words[start : start + 400])
        (page,) = builtin().encode_pages([Page("made", lambda: None, chosen)])
        assert len(packed(page)) <= 1500


def test_kept_patches_cost_a_byte_where_importance_tells_them():
    page = rounded(grid_page(8, 8))
    by_code = pack(map_of(page, reducer("docpruner:k=0")(page)))
    assert by_code[1] & BY_CODE
    by_bits = pack(map_of(page, reducer("random:ratio=0.5")(page)))
    assert not by_bits[1] & BY_CODE


def test_a_second_signal_takes_another_550_bytes_and_only_where_there_is_one():
    for seed in range(20):
        page = grid_page(32, 24, seed)
        plain = packed(page)
        assert plain[0] == 2
        with_both = packed(replace(page, centrality=grid_page(32, 24, seed + 20).importance))
        assert with_both[0] == 3
        assert len(with_both) <= len(plain) + 550
        assert len(unpack(with_both).sources) == len(unpack(plain).sources)


def test_a_map_of_version_1_is_read_and_keeps_its_importances():
    blob = (Path(__file__).parent / "map-of-version-1.bin").read_bytes()
    page = unpack(blob)
    assert (blob[0], page.grid, len(page.cells), len(page.sources)) == (1, (32, 24), 43, 22)
    assert page.boxes[0].tolist() == pytest.approx(FIRST_BOX, abs=1e-6)
    again = pack(page)
    assert again[0] == 2
    assert again[1] & FINE
    assert np.array_equal(unpack(again).importance, page.importance)
    assert np.array_equal(unpack(again).sources, page.sources)
    assert np.array_equal(unpack(again).cells, page.cells)


def test_without_importances_it_takes_less_than_200_bytes():
    page = grid_page(32, 32)
    reduction = reducer("docpruner:k=-0.25")(page)
    assert len(pack(map_of(page, reduction, importances=False))) < 200


@given(st.binary(max_size=60))
def test_garbage_is_a_damaged_index(garbage):
    with pytest.raises(DamagedIndexError, match="the map of a page is damaged"):
        unpack(garbage)


def test_a_map_that_is_cut_off_anywhere_is_a_damaged_index():
    blob = packed(grid_page(4, 4))
    for length in range(len(blob)):
        with pytest.raises(DamagedIndexError, match="the map of a page is damaged"):
            unpack(blob[:length])


@pytest.mark.parametrize("importances", [True, False])
@pytest.mark.parametrize("spec", ["docpruner:k=-0.25", "sem-cluster:factor=2"])
@pytest.mark.parametrize("cells", [None, np.arange(16)[::-1]], ids=["grid", "own cells"])
@pytest.mark.parametrize(
    "changed",
    [
        {"version": 3},
        {"version": 4},
        {"version": 1},
        {"rows": 1},
        {"columns": 0},
        {"vectors": 3},
        {"vectors": 1 << 31},
        {"stored": 1},
        {"stored": 1 << 31},
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_its_body_is_a_damaged_index(changed, cells, spec, importances):
    page = replace(grid_page(4, 4), cells=cells)
    blob = pack(map_of(page, reducer(spec)(page), importances=importances))
    with pytest.raises(DamagedIndexError, match="the map of a page is damaged"):
        unpack(with_header(blob, **changed))


def test_bytes_too_many_are_a_damaged_index():
    blob = packed(grid_page(4, 4))
    inflated = zlib.decompress(blob[HEADER.size :], -15) + b"more"
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    longer = deflate.compress(inflated) + deflate.flush()
    with pytest.raises(DamagedIndexError, match=r"bytes, fewer were expected"):
        unpack(blob[: HEADER.size] + longer)


@pytest.mark.parametrize("flag", [IMPORTANCES, OWN_BOXES, OWN_CELLS, MERGED, WORDS, FINE, BY_CODE])
def test_a_flag_too_many_or_too_few_is_a_damaged_index(flag):
    blob = packed(grid_page(4, 4))
    with pytest.raises(DamagedIndexError, match="the map of a page is damaged"):
        unpack(with_header(blob, flags=blob[1] ^ flag))


def test_the_vector_of_the_global_token_is_kept_while_every_vector_is():
    page = replace(grid_page(3, 3), global_vector=np.array([0.1234567]))
    whole = unpack(packed(page, "none"))
    assert whole.global_vector == np.float16(0.1234567) == rounded(page).global_vector
    assert unpack(packed(page, "docpruner:k=0")).global_vector is None
    assert unpack(packed(grid_page(3, 3), "none")).global_vector is None
