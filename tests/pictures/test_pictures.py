"""Facts about the pixels of small pages."""

import itertools

import numpy as np
import pytest
from PIL import Image

from docpruner.errors import DocPrunerError, InvalidPageError
from docpruner.hits import Match
from docpruner.pictures import contact_sheet, kept_picture, match_picture
from docpruner.pictures.colours import LIT, PRUNED, WORDS, heat, luminance
from docpruner.pictures.legend import Ink, legend_strip
from docpruner.pictures.lettering import drawable, fitted, text_size, width_of
from docpruner.pictures.page_pixels import padding, pixels
from docpruner.pictures.tags import place_tags
from docpruner.types import cell_boxes

SIZES = [(100, 100), (100, 700), (640, 480), (1200, 1600), (4000, 6000)]


def sheet(size=(400, 400), colour=(255, 255, 255)):
    return Image.new("RGB", size, colour)


def grid(rows, columns):
    return cell_boxes(np.arange(rows * columns), (rows, columns))


def at(picture, x, y):
    return np.array(picture.getpixel((x, y)), float)


def change(picture, page, x, y):
    return np.abs(at(picture, x, y) - at(page, x, y)).sum()


# What was kept


def test_a_kept_patch_is_clear_and_a_pruned_one_moves_towards_the_dim_colour():
    page = sheet(colour=(40, 90, 160))
    picture = kept_picture(page, grid(1, 2), None, [True, False])
    assert change(picture, page, 100, 200) == 0
    before, after = (np.abs(at(p, 300, 200) - PRUNED).sum() for p in (page, picture))
    assert after < 0.3 * before


def test_a_tinted_patch_is_changed_less_than_a_pruned_one():
    page = sheet(colour=(0, 0, 0))  # letters
    picture = kept_picture(page, grid(1, 3), [2, 1, 0], [True, True, False])
    kept, weak, pruned = (change(picture, page, x, 200) for x in (50, 200, 350))
    assert weak < 0.5 * pruned
    assert kept < 0.5 * pruned


@pytest.mark.parametrize("colour", [(255, 255, 255), (60, 90, 160)])
def test_a_more_important_patch_has_a_stronger_tint(colour):
    page = sheet(colour=colour)
    picture = kept_picture(page, grid(1, 4), [1, 2, 3, 4], [True] * 4)
    lights = [luminance(at(picture, x, 200)) for x in (50, 150, 250, 350)]
    assert all(a > b for a, b in itertools.pairwise(lights))


def test_one_dominant_patch_leaves_the_others_apart():
    """99 rise from 0 to 1, one is 1,000: linear in that, all but one would look the same."""
    weights = np.append(np.linspace(0, 1, 99), 1000.0)
    picture = kept_picture(sheet((1000, 1000)), grid(10, 10), weights, np.ones(100, bool))
    assert np.abs(at(picture, 50, 50) - at(picture, 550, 950)).sum() > 100


@pytest.mark.parametrize("first_kept", [True, False])
def test_where_patches_overlap_the_kept_one_wins(first_kept):
    boxes = np.array([[0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]], np.float32)
    page = sheet(colour=(200, 30, 30))
    picture = kept_picture(page, boxes, None, [first_kept, not first_kept])
    assert change(picture, page, 200, 200) == 0
    assert (change(picture, page, 20, 20) == 0) == first_kept


@pytest.mark.parametrize("weights", [[1.0, 3.0, 2.0], [3.0, 1.0, 2.0]])
def test_of_two_kept_patches_that_overlap_the_more_important_one_shows(weights):
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0.5, 0, 1, 1]], np.float32)
    picture = kept_picture(sheet(), boxes, weights, [True] * 3)
    darkest = 255 * 0.46 + heat(1.0) * 0.54  # all of the page is covered by the 3.0
    for x in (100, 300):
        assert at(picture, x, 200) == pytest.approx(darkest, abs=3)


def test_space_under_no_patch_fades_less_than_a_pruned_patch():
    page = sheet(colour=(60, 60, 60))
    boxes = np.array([[0.1, 0.1, 0.2, 0.2], [0.4, 0.4, 0.7, 0.5]], np.float32)
    picture = kept_picture(page, boxes, None, [True, False])
    bare, pruned = change(picture, page, 350, 350), change(picture, page, 220, 180)
    assert 0 < bare < 0.5 * pruned


@pytest.mark.parametrize("importance", [None, [0, 0, 0], [5, 5, 5]])
def test_equal_importances_give_no_tint(importance):
    page = sheet(colour=(10, 200, 90))
    picture = kept_picture(page, grid(1, 3), importance, [True] * 3)
    assert picture.crop((0, 0, 400, 400)).tobytes() == page.tobytes()


def test_a_special_token_is_nowhere():
    page = sheet()
    boxes = np.array([[0, 0, 0, 0], [0.5, 0, 1, 1]], np.float32)
    picture = kept_picture(page, boxes, [9.0, 1.0], [False, True])
    assert change(picture, page, 0, 0) == 0


@pytest.mark.parametrize("kept", [[True], [False]])
@pytest.mark.parametrize("importance", [None, [0.0], [3.0]])
def test_one_patch(kept, importance):
    assert kept_picture(sheet(), grid(1, 1), importance, kept).width == 400


def test_all_pruned_but_one():
    page = sheet()
    kept = np.arange(16) == 5
    picture = kept_picture(page, grid(4, 4), np.arange(16), kept)
    changed = [change(picture, page, 50 + 100 * (i % 4), 50 + 100 * (i // 4)) for i in range(16)]
    assert [value == 0 for value in changed] == kept.tolist()


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(InvalidPageError, match=r"kept has shape \(3,\) for 2 boxes"):
        kept_picture(sheet(), grid(1, 2), None, [True] * 3)
    with pytest.raises(InvalidPageError, match=r"importance has shape \(1,\) for 2 boxes"):
        kept_picture(sheet(), grid(1, 2), [1.0], [True] * 2)
    with pytest.raises(InvalidPageError, match=r"boxes have shape \(4,\), expected \(n, 4\)"):
        kept_picture(sheet(), np.zeros(4), None, [True])


# Why it matched

BOX, OTHER, THIRD = (0.1, 0.1, 0.3, 0.2), (0.6, 0.7, 0.8, 0.8), (0.6, 0.1, 0.8, 0.2)
MIDDLE, OTHER_MIDDLE, THIRD_MIDDLE = (80, 60), (280, 300), (280, 60)


def towards_lit(picture, x, y):
    """Yellow: how much less blue than red."""
    colour = at(picture, x, y)
    return colour[0] - colour[2]


def test_what_matched_is_lit_and_the_rest_is_dimmed():
    picture = match_picture(sheet(), [Match("sun", 1.0, (BOX,))])
    assert at(picture, *MIDDLE) == pytest.approx(255 * 0.2 + np.array(LIT) * 0.8, abs=8)
    assert at(picture, 200, 380).max() < 245


def test_all_boxes_of_a_merged_vector_light_up():
    picture = match_picture(sheet(), [Match("sun", 1.0, (BOX, OTHER, THIRD))])
    lit = [towards_lit(picture, *place) for place in (MIDDLE, OTHER_MIDDLE, THIRD_MIDDLE)]
    assert min(lit) == max(lit) > 100


def test_a_higher_score_is_a_stronger_light():
    matches = [Match("a", 0.9, (BOX,)), Match("b", 0.3, (OTHER,)), Match("c", -0.5, (THIRD,))]
    picture = match_picture(sheet(), matches)
    strong, weak = towards_lit(picture, *MIDDLE), towards_lit(picture, *OTHER_MIDDLE)
    assert strong > weak + 40 > 100
    assert towards_lit(picture, *THIRD_MIDDLE) <= 0


@pytest.mark.parametrize("score", [0.1, 0.31, 0.5, 1.0, 3.0, 7.7])
def test_the_strongest_place_is_fully_lit_whatever_its_share(score):
    matches = [Match("a", score, (BOX,)), Match("b", 0.05, (OTHER,))]
    assert towards_lit(match_picture(sheet((60, 60)), matches), 12, 9) > 140


def test_scores_add_up_where_words_share_a_place():
    """0.5 + 0.5 against 0.8: together they are stronger."""
    matches = [Match("a", 0.5, (BOX,)), Match("b", 0.5, (BOX,)), Match("c", 0.8, (OTHER,))]
    picture = match_picture(sheet(), matches)
    assert towards_lit(picture, *MIDDLE) > towards_lit(picture, *OTHER_MIDDLE)


def test_overlapping_boxes_of_one_word_count_once():
    matches = [Match("a", 0.5, (BOX, BOX, BOX)), Match("b", 0.5, (OTHER,))]
    picture = match_picture(sheet(), matches)
    assert towards_lit(picture, *MIDDLE) == towards_lit(picture, *OTHER_MIDDLE)


def test_one_word_alone():
    matches = [Match("a", 0.9, (BOX,)), Match("b", 0.3, (OTHER,))]
    picture = match_picture(sheet(), matches, word=1)
    assert towards_lit(picture, *MIDDLE) <= 0
    assert towards_lit(picture, *OTHER_MIDDLE) > 100


@pytest.mark.parametrize("word", [-1, 1])
def test_a_word_the_query_has_not(word):
    with pytest.raises(DocPrunerError, match=rf"word {word} of a query of 1; they count from 0"):
        match_picture(sheet(), [Match("a", 0.9, (BOX,))], word=word)


def test_a_page_lit_all_over_keeps_its_colours():
    page = sheet((400, 400), (20, 60, 120))
    picture = match_picture(page, [Match("a", 1.0, ((0.0, 0.0, 1.0, 1.0),))])
    assert change(picture, page, 200, 200) == 0


def test_strong_words_are_outlined_in_their_own_colours():
    matches = [Match("a", 0.3, (BOX,)), Match("b", 0.9, (OTHER,)), Match("c", 0.01, (THIRD,))]
    pixels_of = np.asarray(match_picture(sheet(), matches).crop((0, 0, 400, 400)))
    rows, columns = (pixels_of == WORDS[0]).all(-1).nonzero()  # the strongest one
    assert rows.min() > 200
    assert columns.min() > 200
    assert (pixels_of == WORDS[1]).all(-1).any()
    assert not (pixels_of == WORDS[2]).all(-1).any()  # too weak


@pytest.mark.parametrize(
    "box", [(0.0, 0.0, 0.01, 0.01), (0.99, 0.99, 1.0, 1.0), (1.0, 0.5, 1.0, 0.5)]
)
def test_a_tag_at_an_edge_stays_on_the_page(box):
    """A tag of 9 pixels' letters holds some 100 pixels of its colour; nothing of it is cut off."""
    middle = (0.5, 0.5, 0.5, 0.5)
    count = {
        b: (np.asarray(match_picture(sheet(), [Match("sunshine", 1.0, (b,))])) == WORDS[0])
        .all(-1)
        .sum()
        for b in (box, middle)
    }
    assert count[box] == pytest.approx(count[middle], rel=0.15)


@pytest.mark.parametrize("size", [(400, 400), (100, 100), (60, 400)])
def test_tags_share_no_pixel_and_stay_on_the_page(size):
    rng = np.random.default_rng(0)
    for _ in range(50):
        corners = rng.integers(0, np.array(size) - 4, (5, 2))
        corners[1:3] = corners[0]  # several words at one place
        places = np.concatenate([corners, corners + 4], axis=1).astype(np.int32)
        sizes = rng.integers(8, 40, (5, 2)).tolist()
        tags = [(tuple(s), tuple(p)) for s, p in zip(sizes, places.tolist(), strict=True)]
        spots = [spot for spot in place_tags(size, tags, places, gap=2) if spot is not None]
        assert spots
        assert all(x0 >= 0 and y0 >= 0 for x0, y0, _, _ in spots)
        assert all(x1 <= size[0] and y1 <= size[1] for _, _, x1, y1 in spots)
        for a, b in itertools.combinations(spots, 2):
            assert min(a[2], b[2]) <= max(a[0], b[0]) or min(a[3], b[3]) <= max(a[1], b[1])


def test_a_tag_hides_no_place_if_it_can():
    places = np.array([[50, 50, 90, 60], [50, 35, 90, 48]], np.int32)  # the other is just above
    spot = place_tags((200, 200), [((30, 12), (50, 50, 90, 60))], places, gap=2)[0]
    assert spot == (50, 62, 80, 74)


@pytest.mark.parametrize(
    "matches",
    [
        [],
        [Match("a", 1.0, ())],
        [Match("a", -1.0, (BOX,)), Match("b", 0.0, (BOX,))],
        [Match("中文", 1.0, (BOX,)), Match("", 0.5, (OTHER,))],
        [Match(f"word{i}", 0.9, (BOX,)) for i in range(60)],
        [Match("w" * 300, 1.0, (BOX, (0.0, 0.0, 0.0, 0.0)))],
    ],
)
def test_matches_of_all_kinds_give_a_picture(matches):
    for size in ((400, 300), (100, 100), (12, 12)):
        for word in (None, *range(min(2, len(matches)))):
            picture = match_picture(sheet(size), matches, word=word, legend=[("score", "1.0")])
            assert picture.width == size[0]
            assert picture.height > size[1]


# Common to both


@pytest.mark.parametrize("size", SIZES)
def test_the_legend_is_below_the_page_and_never_over_it(size):
    page = sheet(size, (10, 20, 30))
    pairs = [("patches", "403"), ("kept", "197 (49 %)"), ("τ", "1.02"), ("entropy", "5.1")]
    with_pairs = kept_picture(page, grid(1, 1), None, [True], legend=pairs)
    assert with_pairs.mode == "RGB"
    assert with_pairs.width == size[0]
    assert with_pairs.crop((0, 0, *size)).tobytes() == page.tobytes()
    below = np.asarray(with_pairs.crop((0, size[1], size[0], with_pairs.height)).convert("L"))
    assert (below < 90).sum() > 100  # letters
    for edge in (below[-1], below[2:, 0], below[2:, -1]):  # and none is cut off
        assert edge.min() > 200


def test_a_narrow_legend_wraps_and_cuts_what_is_too_long():
    entries = [(Ink("a label"), Ink("a value"))] * 4
    wide, narrow = legend_strip(1000, 12, entries), legend_strip(120, 12, entries)
    assert narrow.height > 3 * (wide.height - 12)
    long = np.asarray(legend_strip(120, 12, [(Ink("w" * 100), Ink("9"))]).convert("L"))
    assert long[2:, -2:].min() > 250


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "CMYK"])
def test_pages_of_any_mode(mode):
    picture = kept_picture(Image.new(mode, (50, 50)), grid(1, 1), None, [True])
    assert picture.mode == "RGB"


def test_transparent_paper_is_white():
    page = Image.new("RGBA", (50, 50), (0, 0, 0, 0))
    assert kept_picture(page, grid(1, 1), None, [True]).getpixel((20, 20)) == (255, 255, 255)


@pytest.mark.parametrize("size", [(97, 131), (100, 100), (1237, 1600)])
def test_cells_tile_a_page_without_gaps_or_overlaps(size):
    count = np.zeros((size[1], size[0]), int)
    for x0, y0, x1, y1 in pixels(grid(32, 24), size).tolist():
        count[y0:y1, x0:x1] += 1
    assert (count == 1).all()


def test_boxes_without_size_or_at_the_edges_have_a_pixel_on_the_page():
    boxes = [[0.5, 0.5, 0.5, 0.5], [1, 1, 1, 1], [0, 0, 0, 1], [0.999, 0, 1, 0], [0, 1, 1, 1]]
    for pad in (0, 3):
        placed = pixels(np.array(boxes, np.float32), (40, 60), pad)
        assert (placed[:, 2:] > placed[:, :2]).all()
        assert (placed >= 0).all()
        assert (placed[:, 2:] <= [40, 60]).all()


def test_words_get_padding_and_cells_do_not():
    words = np.array([[0.1, 0.1, 0.2, 0.12], [0.3, 0.1, 0.5, 0.12]], np.float32)
    assert padding(words, (1000, 1000)) == 3  # 0.14 of 20 pixels
    assert padding(grid(32, 32), (1000, 1000)) == 0
    assert padding(grid(32, 32)[[5, 77]], (1000, 1000)) == 0  # two of them, as in a match


def test_the_heat_map_is_monotone_in_luminance():
    lights = luminance(heat(np.linspace(0, 1, 200)))
    assert (np.diff(lights) < 0).all()
    assert lights[0] > 0.75 > 0.1 > lights[-1]


def test_text_is_spelled_in_the_signs_of_the_font():
    assert drawable("τ = μ + kσ") == "tau = mu + ksigma"
    assert drawable("Größe, café, 3×4") == "Grosse, cafe, 3x4"
    assert drawable("日本") == "??"


def test_letters_follow_the_size_of_the_page():
    assert [text_size(size) for size in SIZES] == [9, 9, 9, 22, 79]


def test_text_is_cut_with_an_ellipsis():
    short = fitted("a long line of text", 12, 60)
    assert short.endswith("…")
    assert width_of(short, 12) <= 60
    assert fitted("anything", 12, 2) == ""


# Sheets


def test_a_contact_sheet_shows_every_picture_whole():
    colours = [(200, 30, 30), (30, 160, 30), (30, 30, 200)]
    pages = [sheet((300, 400), colour) for colour in colours]
    result = contact_sheet(pages, ["one", "two", "three"], columns=2, width=500)
    assert result.width == 500
    found = np.asarray(result)
    areas = [(found == colour).all(-1).sum() for colour in colours]
    assert min(areas) == max(areas) > 0.9 * 230 * 307
    third = (found == colours[2]).all(-1).nonzero()
    assert third[0].min() > (found == colours[0]).all(-1).nonzero()[0].max()  # a second row


def test_captions_never_leave_their_column():
    pages = [sheet((300, 400), (200, 30, 30))] * 2
    long = "a_very_long_file_name_without_any_space_" * 5 + " and more"
    dark = np.asarray(contact_sheet(pages, [long, long], width=500).convert("L")) < 80
    between = dark[:, 248:252]
    assert not between.any()


def test_a_small_picture_is_not_enlarged():
    result = np.asarray(contact_sheet([sheet((20, 30), (200, 30, 30))], ["tiny"], width=400))
    assert (result == (200, 30, 30)).all(-1).sum() == 20 * 30


def test_sheets_that_can_not_be_made():
    with pytest.raises(DocPrunerError, match="no pictures; give it at least one"):
        contact_sheet([], [])
    with pytest.raises(DocPrunerError, match="1 captions for 2 pictures"):
        contact_sheet([sheet()] * 2, ["one"])
    with pytest.raises(DocPrunerError, match="of 0 columns; give at least 1"):
        contact_sheet([sheet()], ["one"], columns=0)
