"""Why a page matched: the places that answer the words of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from docpruner.errors import DocPrunerError
from docpruner.hits import Match
from docpruner.pictures.colours import LIT, MUTED, STRONG, WHITE, WORDS, Colour, mixed
from docpruner.pictures.legend import Entry, Ink, pairs, swatch, with_legend
from docpruner.pictures.lettering import LEAST_SIZE, bare, drawable, is_drawable, text_size
from docpruner.pictures.outlines import outline
from docpruner.pictures.page_pixels import (
    Pixels,
    as_rgb,
    checked_boxes,
    grey,
    in_bands,
    on_page,
    padding,
    pixels,
    tinted,
)
from docpruner.pictures.tags import (
    Print,
    Rect,
    draw_leader,
    draw_tag,
    fitted_tag,
    place_tags,
    tag_size,
)

TAGGED = len(WORDS)  # words that get a tag
STRONG_ENOUGH = 0.2  # of the best score, to get one
BRIGHT_ENOUGH = 0.1  # to be lit at all
LISTED = 16  # words that get a line in the legend
DIM: Colour = (214, 218, 224)
DIM_ALPHA = 0.45
LIT_ALPHA = (0.3, 0.8)  # of the weakest and the strongest place
FINE = 10_000  # steps of a share: they add up in 16 bits


def match_picture(
    image: Image.Image,
    matches: Sequence[Match],
    *,
    word: int | None = None,
    legend: Sequence[tuple[str, str]] = (),
) -> Image.Image:
    """A page with the places lit that answer a query, all of them or those of one `word`.

    A place is as bright as its words' part of all positive scores. The strongest words are
    outlined and tagged, each in the colour it has in the legend.
    """
    if word is not None and not 0 <= word < len(matches):
        raise DocPrunerError(f"word {word} of a query of {len(matches)}; they count from 0")
    page = as_rgb(image)
    colours = _colours(matches, word)
    places = _places(matches, page.size)
    shown = [word] if word is not None else _counting(matches, BRIGHT_ENOUGH)
    painted = _lit(page, [(places[i], _share(matches, i)) for i in shown])
    size = text_size(page.size)
    tagged = [i for i in colours if i in shown and len(places[i])]
    outline(painted, [(places[i], colours[i]) for i in tagged], max(1, round(size / 8)))
    words = [(_name(matches, i), colours[i], places[i]) for i in tagged]
    _tag(painted, words, max(LEAST_SIZE, round(0.8 * size)), Print.of(page, max(2, size // 4)))
    return with_legend(painted, size, [*pairs(legend), *_words(matches, colours, word, size)])


def _counting(matches: Sequence[Match], part: float) -> list[int]:
    """The words whose score is at least some part of the best one's."""
    least = part * max((match.score for match in matches), default=0.0)
    return [i for i, match in enumerate(matches) if match.score > 0 and match.score >= least]


def _colours(matches: Sequence[Match], word: int | None) -> dict[int, Colour]:
    """The words that get a colour, strongest first: the same one whether shown alone or not."""
    able = [i for i in _counting(matches, STRONG_ENOUGH) if matches[i].boxes]
    strongest = sorted(able, key=lambda i: (-matches[i].score, i))[:TAGGED]
    colours = dict(zip(strongest, WORDS, strict=False))
    if word is not None:
        colours.setdefault(word, WORDS[0])
    return colours


def _places(matches: Sequence[Match], size: tuple[int, int]) -> list[Pixels]:
    every = checked_boxes(np.array([b for m in matches for b in m.boxes]).reshape(-1, 4))
    pad = padding(every, size)
    places = []
    for match in matches:
        boxes = checked_boxes(np.array(match.boxes).reshape(-1, 4))
        places.append(pixels(boxes[on_page(boxes)], size, pad))
    return places


def _share(matches: Sequence[Match], word: int) -> float:
    total = sum(max(match.score, 0.0) for match in matches)
    return max(matches[word].score, 0.0) / total if total else 0.0


def _lit(page: Image.Image, lights: Sequence[tuple[Pixels, float]]) -> Image.Image:
    heat = _heat(page.size, lights)
    unlit = 1 - np.count_nonzero(heat) / heat.size  # a page lit all over needs no colour
    alphas = [round(255 * unlit * _alpha(level / 255)) for level in range(256)]
    return in_bands(page, Image.fromarray(_bytes(heat)), partial(_lit_band, alphas))


def _lit_band(alphas: list[int], page: Image.Image, levels: Image.Image) -> Image.Image:
    bright = tinted(page, Image.new("RGB", page.size, LIT), levels.point(alphas))
    drained = Image.blend(page, grey(page), 0.6)
    dim = Image.blend(drained, Image.new("RGB", page.size, DIM), DIM_ALPHA)
    return Image.composite(bright, dim, levels.point([0] + [255] * 255))


def _heat(size: tuple[int, int], lights: Sequence[tuple[Pixels, float]]) -> npt.NDArray[np.uint16]:
    """The shares that add up at each pixel; overlapping boxes of one word count once."""
    heat = np.zeros((size[1], size[0]), np.uint16)
    last = np.zeros(heat.shape, np.uint16)  # the light that was the last to reach a pixel
    for number, (places, share) in enumerate(lights, start=1):
        step = np.uint16(max(1, round(FINE * share)))
        for x0, y0, x1, y1 in places.tolist():
            heat[y0:y1, x0:x1] += step * (last[y0:y1, x0:x1] != number)
            last[y0:y1, x0:x1] = number
    return heat


def _alpha(strength: float) -> float:
    return LIT_ALPHA[0] + (LIT_ALPHA[1] - LIT_ALPHA[0]) * strength


def _bytes(heat: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint8]:
    """Heat from 0 to 255; only what is unlit is 0."""
    most = int(heat.max())
    steps = -(np.arange(most + 1) * -255 // max(most, 1))  # rounded up
    levels: npt.NDArray[np.uint8] = steps.astype(np.uint8)[heat]
    return levels


def _tag(
    painted: Image.Image, words: Sequence[tuple[str, Colour, Pixels]], size: int, under: Print
) -> None:
    texts = [fitted_tag(drawable(text), size, painted.width // 2) for text, _, _ in words]
    tags = [
        (tag_size(text, size), _first(places))
        for text, (_, _, places) in zip(texts, words, strict=True)
    ]
    every = np.concatenate([np.empty((0, 4), np.int32), *(places for _, _, places in words)])
    gap = max(2, round(size / 4))
    spots = place_tags(painted.size, tags, every, gap, under)
    draw = ImageDraw.Draw(painted)
    for (_, place), (_, colour, _), spot in zip(tags, words, spots, strict=True):
        if spot is not None:
            draw_leader(draw, spot, place, colour, gap)
    for text, (_, colour, _), spot in zip(texts, words, spots, strict=True):
        if spot is not None and text:
            draw_tag(draw, text, size, spot, colour)


def _first(places: Pixels) -> Rect:
    x0, y0, x1, y1 = places[0].tolist()
    return x0, y0, x1, y1


def _name(matches: Sequence[Match], word: int) -> str:
    """A word as the font can draw it; words of other scripts are called by their number."""
    text = bare(matches[word].word)
    return text if text and is_drawable(text) else f"word {word + 1}"


def _words(
    matches: Sequence[Match], colours: Mapping[int, Colour], word: int | None, size: int
) -> list[Entry]:
    """The words with their scores, in the query's order; of a long query the strongest."""
    strongest = sorted(range(len(matches)), key=lambda i: (-matches[i].score, i))[:LISTED]
    listed = sorted({*strongest, *([word] if word is not None else [])})
    most = max((_share(matches, i) for i in listed if word in (None, i)), default=0.0)
    entries: list[Entry] = []
    for i in listed:
        shown = word in (None, i) and i in colours
        name, score = Ink(_name(matches, i), STRONG if shown else MUTED), f"{matches[i].score:.2f}"
        if shown:
            share = _share(matches, i) / most if most else 0.0
            fill = mixed(WHITE, LIT, _alpha(share))
            entries.append((swatch(size, fill, colours[i]), name, Ink(score)))
        else:
            entries.append((name, Ink(score)))
    if matches and not any(match.boxes for match in matches):
        entries.insert(0, (Ink("no word is answered by a place on the page", STRONG),))
    if len(listed) < len(matches):
        entries.append((Ink(f"and {len(matches) - len(listed)} weaker"),))
    return entries
