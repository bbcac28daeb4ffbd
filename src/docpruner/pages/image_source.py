"""Pictures in memory as a source of pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.errors import InvalidPageError, PageError
from docpruner.pages.parsed_page import Picture, content_hash_of
from docpruner.types import Ocr, Page, Word, WordsFrom

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class ImageDocument:
    """A picture as a document of one page."""

    name: str
    image: Image
    content_hash: bytes
    ocr: Ocr

    @property
    def bytes(self) -> int:
        """All are the same work."""
        return 1

    def count(self) -> int:
        return 1

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        for number in numbers:
            yield self._page(number)

    def _page(self, number: int) -> Page:
        words = self._words() if self.ocr else ()
        words_from: WordsFrom = "ocr" if words else "nowhere"
        size = (float(self.image.width), float(self.image.height))
        return Page(
            name=f"{self.name}#{number}",
            render=lambda: self.image.convert("RGB"),
            words=words,
            number=number,
            size=size,
            content_hash=content_hash_of(size, words, picture_of(self.image)),
            words_from=words_from,
        )

    def _words(self) -> tuple[Word, ...]:
        from docpruner.pages.ocr import recognised_words

        return recognised_words(self.image, self.ocr)


class ImageSource:
    """Pictures, each a document of its own; without names they are called by their content."""

    def __init__(
        self, images: Iterable[Image], names: Iterable[str] | None = None, *, ocr: Ocr = False
    ) -> None:
        self._images, self._names, self._ocr = images, names, ocr
        self.size = len(images) if isinstance(images, Sequence) else 0

    def documents(self) -> Iterator[ImageDocument | PageError]:
        names = None if self._names is None else iter(self._names)
        for count, image in enumerate(self._images, 1):
            digest = _digest(image)
            name = f"image-{digest.hex()[:16]}" if names is None else next(names, None)
            if name is None:
                raise InvalidPageError(f"image {count} has no name; give one for each")
            yield ImageDocument(name, image, digest, self._ocr)

    def close(self) -> None:
        pass


def picture_of(image: Image) -> Picture:
    return Picture(image.width, image.height, image.convert("RGB").tobytes())


def _digest(image: Image) -> bytes:
    picture = picture_of(image)
    header = f"{picture.width}x{picture.height}\0".encode()
    return hashlib.sha256(header + picture.rgb).digest()
