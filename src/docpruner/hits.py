"""What a search gives: pages, why they match, and a way to read and see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from docpruner.errors import PageError
from docpruner.types import Box, Metadata, Word

if TYPE_CHECKING:
    from PIL.Image import Image

NEAR = 0.002  # of the page: boxes are stored rounded
SNIPPET = 160  # characters
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
    score: float
    matches: tuple[Match, ...]  # one for each vector of the query, in its order
    metadata: Metadata = field(default_factory=dict)  # of the document
    size: tuple[float, float] = (0.0, 0.0)  # of the page: points of a PDF, pixels of an image
    recognised: tuple[Word, ...] = field(default=(), repr=False)  # words of a scan, if stored
    files: PageFiles | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{PurePath(self.document).name}#{self.page}"

    @property
    def tells_words(self) -> bool:
        """Whether its words were stored, so that its file need not be read for them."""
        return bool(self.recognised) or any(match.found for match in self.matches)

    def words(self) -> tuple[Word, ...]:
        """The words of the page in reading order, read from its file unless OCR found them.

        PageError if the file is gone or can't be read.
        """
        return self.recognised or self._files().words(self.document, self.page)

    @property
    def text(self) -> str:
        """The text of the page, line by line; PageError if its file is gone or can't be read."""
        return text_of(self.words())

    def snippet(self, width: int = SNIPPET) -> str:
        """About `width` characters of the page's text around what matches the query best."""
        words = self.words()
        weights = [0.0] * len(words)
        for match in self.matches:
            for place, word in enumerate(words):
                if is_within(word.box, match.boxes):
                    weights[place] = max(weights[place], match.score)
        return snippet_of([word.text for word in words], weights, width)

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


def text_of(words: Sequence[Word]) -> str:
    """Words with spaces between them, and a new line where the page begins one."""
    parts: list[str] = []
    for before, word in zip([None, *words], words, strict=False):
        if before is not None:
            middle = (before.box[1] + before.box[3]) / 2
            same_line = word.box[1] <= middle <= word.box[3] and word.box[0] >= before.box[0]
            parts.append(" " if same_line else "\n")
        parts.append(word.text)
    return "".join(parts)


def snippet_of(words: Sequence[str], weights: Sequence[float], width: int) -> str:
    """A run of words of about `width` characters around those whose weights add up to most."""
    if not words:
        return ""
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
    before, after = ("… " if first else ""), (" …" if last < len(words) - 1 else "")
    return before + " ".join(words[first : last + 1]) + after


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
