"""What was read of a page, on its way to becoming a `Page`, perhaps out of another process."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.types import Page, Word, WordsFrom

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_PIXELS = 1_500_000
"""Of a page that is drawn although its encoder reads words only."""

PIXEL_LIMIT = 200_000_000
"""A larger image is refused by its header: decoded, a small file could fill the memory."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Red, green and blue, a byte each, row by row."""

    width: int
    height: int
    rgb: bytes

    def image(self) -> Image:
        from PIL import Image

        return Image.frombytes("RGB", (self.width, self.height), self.rgb)


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """All that was read of a page; `picture` only if it was asked for."""

    number: int  # from 1
    size: tuple[float, float]
    words: tuple[Word, ...]
    words_from: WordsFrom
    content_hash: bytes
    picture: Picture | None

    def page(self, path: Path, draw: Callable[[], Image]) -> Page:
        """`draw` is for a page that was read without its picture."""
        return Page(
            name=f"{path.name}#{self.number}",
            render=draw if self.picture is None else self.picture.image,
            words=self.words,
            number=self.number,
            size=self.size,
            content_hash=self.content_hash,
            words_from=self.words_from,
        )


def titled(page: Page, title_page: tuple[Word, ...]) -> Page:
    """The page together with the words of its document's first page, which tell an encoder what
    the page is part of."""
    digest = hashlib.blake2b(page.content_hash, digest_size=16)
    digest.update(content_hash_of((0.0, 0.0), title_page, None))
    return replace(page, title_page=title_page, content_hash=digest.digest())


def content_hash_of(
    size: tuple[float, float], words: tuple[Word, ...], picture: Picture | None
) -> bytes:
    """A hash of all that an encoder sees of a page: equal pages need encoding only once."""
    digest = hashlib.blake2b(struct.pack("<2dI", *size, len(words)), digest_size=16)
    for word in words:
        text = word.text.encode("utf-8", "surrogatepass")
        digest.update(struct.pack("<I4d", len(text), *word.box))
        digest.update(text)
    if picture is not None:
        digest.update(struct.pack("<2I", picture.width, picture.height))
        digest.update(picture.rgb)
    return digest.digest()
