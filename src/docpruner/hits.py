"""What a search gives: pages, why they match, and a way to read and see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from docpruner.errors import PageError
from docpruner.types import Box, Metadata, Word
from docpruner.word_forms import text_of, words_in

if TYPE_CHECKING:
    from PIL.Image import Image

NEAR = 0.002  # of the page: boxes are stored rounded
SNIPPET = 160  # characters
MARKED = 0.35  # of the heaviest word's weight: what a word in a snippet needs to be marked
SHORT = 4  # letters of a word that may be one like "the"
IMAGE_PIXELS = 1_500_000


class PageFiles(Protocol):
    """Where the words and the picture of a page come from; what can't be read is a PageError."""

    def words(self, path: str, number: int) -> tuple[Word, ...]: ...
    def picture(self, path: str, number: int, pixels: int) -> Image: ...


@dataclass(frozen=True, slots=True)
class Match:
    """What a hit has to say to one vector of the query: the stored vector that matches it best."""

    word: str  # of the query; empty if it was asked by vectors or by a picture
    score: float
    boxes: tuple[Box, ...]  # of the patches that the stored vector came from; none if special
    found: tuple[str, ...] = ()  # words of these, if OCR recognised them; else they are in the file
    weight: float = 1.0  # the length of the query's vector, which is how much the word counts

    @property
    def closeness(self) -> float:
        """How near the two are, whatever the word counts; about 1 for the word itself."""
        return self.score / self.weight if self.weight > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that answers a query."""

    document: str  # the file's path, or the name it was added under
    page: int  # from 1
    score: float  # by what the search went by; compares pages of one search
    matches: tuple[Match, ...]  # one for each vector of the query, in its order
    metadata: Metadata = field(default_factory=dict)  # of the document
    size: tuple[float, float] = (0.0, 0.0)  # of the page: points of a PDF, pixels of an image
    query: str = ""  # that it answers, if that was text
    stored_words: Callable[[], tuple[Word, ...]] | None = field(
        default=None, repr=False, compare=False
    )  # of the page, unpacked when they are asked for; None if the index has none
    files: PageFiles | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{PurePath(self.document).name}#{self.page}"

    @property
    def tells_words(self) -> bool:
        """Whether its words were stored, so that its file need not be read for them."""
        return self.stored_words is not None

    def words(self) -> tuple[Word, ...]:
        """The words of the page in reading order.

        Where an index has not stored them, they are read from the file; PageError if that is gone
        or can't be read.
        """
        if self.stored_words is not None:
            return self.stored_words()
        return self._files().words(self.document, self.page)

    @property
    def text(self) -> str:
        """The text of the page, line by line; from where `words` has it."""
        return text_of(self.words())

    def snippet(self, width: int = SNIPPET, mark: tuple[str, str] = ("", "")) -> str:
        """About `width` characters of the page's text around what matches the query best.

        mark: what is written before and after each word that matches, such as ("**", "**").
        """
        return self.excerpt(width).marked(*mark)

    def excerpt(self, width: int = SNIPPET) -> Excerpt:
        """As `snippet`, with the places of the words that match."""
        words = self.words()
        weights = [0.0] * len(words)
        for match in self.matches:
            for place, word in enumerate(words):
                if is_within(word.box, match.boxes):
                    weights[place] = max(weights[place], match.score)
        asked = self._asked()
        if asked:
            for place, word in enumerate(words):
                said = [asked[each] for each in words_in(word.text) if each in asked]
                weights[place] = max([weights[place], *said])
        return excerpt_of([word.text for word in words], weights, width)

    def _asked(self) -> dict[str, float]:
        """The words of the query, by how much each counts; short ones that the encoder doesn't
        weigh, such as "the", for nothing."""
        weighed: dict[str, float] = {}
        for match in self.matches:
            for word in words_in(match.word):
                weighed[word] = max(weighed.get(word, 0.0), match.weight)
        return {
            word: weighed.get(word, 0.0 if len(word) < SHORT and word.isalpha() else 1.0)
            for word in words_in(self.query)
        }

    def image(self, width: int | None = None) -> Image:
        """The page as a picture, so many pixels wide, or as wide as is good to read.

        PageError if the file is gone or can't be read.
        """
        pixels = IMAGE_PIXELS
        if width is not None and min(self.size) > 0:
            pixels = max(1, round(width * width * self.size[1] / self.size[0]))
        picture = self._files().picture(self.document, self.page, pixels)
        if width is None or picture.width == width:
            return picture
        return picture.resize((width, max(1, round(picture.height * width / picture.width))))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "document": self.document,
            "page": self.page,
            "score": round(self.score, 4),
            "metadata": dict(self.metadata),
            "matches": [
                {
                    "word": match.word,
                    "score": round(match.score, 4),
                    "boxes": [[round(edge, 4) for edge in box] for box in match.boxes],
                }
                for match in self.matches
            ],
        }

    def _files(self) -> PageFiles:
        if self.files is None:
            remedy = "search an index to get hits that know their files"
            raise PageError(self.document, "its file is not known", remedy, self.page)
        return self.files


def is_within(box: Box, boxes: Sequence[Box]) -> bool:
    """Whether the middle of a box lies in one of the others."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(
        x0 - NEAR <= x <= x1 + NEAR and y0 - NEAR <= y <= y1 + NEAR for x0, y0, x1, y1 in boxes
    )


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some of a page's text."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()  # of the words in it that match: from, up to

    def marked(self, before: str, after: str) -> str:
        parts, end = [], 0
        for first, last in self.spans:
            parts += [self.text[end:first], before, self.text[first:last], after]
            end = last
        return "".join([*parts, self.text[end:]])


def excerpt_of(words: Sequence[str], weights: Sequence[float], width: int) -> Excerpt:
    """A run of words of about `width` characters around those whose weights add up to most."""
    if not words:
        return Excerpt("")
    first, last = _heaviest(words, weights, width)
    length = len(" ".join(words[first : last + 1]))
    left = True
    while first > 0 or last < len(words) - 1:  # as much before as after, as far as there is room
        left = first > 0 and (left or last == len(words) - 1)
        word = words[first - 1] if left else words[last + 1]
        length += len(word) + 1
        if length > width:
            break
        first, last, left = (first - 1, last, False) if left else (first, last + 1, True)
    least = MARKED * max(weights, default=0.0)
    text, spans = "… " if first else "", []
    for place in range(first, last + 1):
        if weights[place] > 0 and weights[place] >= least:
            spans.append((len(text), len(text) + len(words[place])))
        text += words[place] + (" " if place < last else "")
    return Excerpt(text + (" …" if last < len(words) - 1 else ""), tuple(spans))


def _heaviest(words: Sequence[str], weights: Sequence[float], width: int) -> tuple[int, int]:
    """The first and the last word of a run that weighs most, no longer than it has to be."""
    best, most, weight, length, first = (0, 0), 0.0, 0.0, -1, 0
    for last, word in enumerate(words):
        weight += weights[last]
        length += len(word) + 1
        while first < last and (length > width or weights[first] <= 0):
            weight -= weights[first]
            length -= len(words[first]) + 1
            first += 1
        if weight > most + 1e-9:
            best, most = (first, last), weight
    return best
