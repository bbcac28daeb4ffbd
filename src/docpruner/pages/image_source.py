"""Pictures in memory as a source of pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.pages.document import content_hash_of
from docpruner.pages.ocr import recognised_words
from docpruner.pages.parsed_page import Picture
from docpruner.types import Page, WordsFrom

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True, eq=False)
class ImageDocument:
    """A picture as a document of one page."""

    name: str
    image: Image
    content_hash: bytes
    ocr: bool

    @property
    def bytes(self) -> int:
        return self.image.width * self.image.height

    def count(self) -> int:
        return 1

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        for number in numbers:
            yield self._page(number)

    def _page(self, number: int) -> Page:
        words = recognised_words(self.image.convert("RGB")) if self.ocr else ()
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


class ImageSource:
    """Pictures, each a document of its own; without names they are called by their content."""

    def __init__(
        self, images: Iterable[Image], names: Iterable[str] | None = None, *, ocr: bool = False
    ) -> None:
        pictures = list(images)
        digests = [_digest(image) for image in pictures]
        called = [f"image-{digest.hex()[:16]}" for digest in digests]
        if names is not None:
            called = list(names)
        if len(called) != len(pictures):
            raise ValueError(f"{len(called)} names for {len(pictures)} images; give one for each")
        self._documents = [
            ImageDocument(name, image, digest, ocr)
            for name, image, digest in zip(called, pictures, digests, strict=True)
        ]
        self.size = sum(document.bytes for document in self._documents)

    def documents(self) -> Iterator[ImageDocument | PageError]:
        yield from self._documents

    def close(self) -> None:
        pass


def picture_of(image: Image) -> Picture:
    return Picture(image.width, image.height, image.convert("RGB").tobytes())


def _digest(image: Image) -> bytes:
    picture = picture_of(image)
    header = f"{picture.width}x{picture.height}\0".encode()
    return hashlib.sha256(header + picture.rgb).digest()
