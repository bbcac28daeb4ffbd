"""Pages as pictures: drawn in child processes, kept for the next who asks."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.index.records import StoredPage
from docpruner.web.kept import Recent
from docpruner.web.readers import DRAWING_SECONDS, Readers, state_of

if TYPE_CHECKING:
    from PIL.Image import Image

AREAS = ((250_000, 2), (1_500_000, 1), (6_000_000, 1))  # pixels to draw to, and readers for it
LETTERED = 1_500_000  # pixels, of what has letters of its own
BYTES_KEPT = 96 << 20
QUALITY = 88
SLACK = 1.05  # what a drawing may lack of the pixels asked for

Overlay = Callable[["Image"], "Image"]


@dataclass(frozen=True)
class Drawing:
    """A page to draw: from this file, so wide, with something over it."""

    page: StoredPage
    width: int
    overlay: Overlay | None = None
    what: str = ""  # the overlay, in words that tell it from any other

    def tag(self) -> str:
        """Another one whenever the picture would be another."""
        text = repr((state_of(self.page.document), self.page.number, self.width, self.what))
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


class Drawings:
    def __init__(self) -> None:
        self._readers = [
            Readers(pixels=area, count=count, seconds=DRAWING_SECONDS) for area, count in AREAS
        ]
        self._kept: Recent[str, bytes] = Recent(BYTES_KEPT)

    def warm_up(self) -> None:
        """Have readers for thumbnails and pages ready; larger ones are rarer."""
        for readers in self._readers[:2]:
            readers.warm_up()

    def close(self) -> None:
        for readers in self._readers:
            readers.close()

    def draw(self, drawing: Drawing, tag: str) -> bytes:
        found = self._kept.get(tag)
        if found is None:
            found = _packed(self._picture(drawing))
            self._kept.put(tag, found, len(found))
        return found

    def _picture(self, drawing: Drawing) -> Image:
        page = drawing.page
        share = page.size[1] / page.size[0] if min(page.size) > 0 else 1.0
        needed = drawing.width**2 * share
        if drawing.overlay is not None:
            needed = max(needed, LETTERED)  # its letters shrink better than they are drawn small
        fits = (number for number, (area, _) in enumerate(AREAS) if area * SLACK >= needed)
        number = next(fits, len(AREAS) - 1)
        picture = self._readers[number].page(page.document, page.number).render()
        if drawing.overlay is not None:
            picture = drawing.overlay(picture)
        return _scaled(picture, drawing.width)


def _scaled(picture: Image, width: int) -> Image:
    """Never larger than it was drawn."""
    from PIL.Image import Resampling

    if picture.width <= width:
        return picture
    height = max(1, round(picture.height * width / picture.width))
    return picture.resize((width, height), Resampling.LANCZOS, reducing_gap=3.0)


def _packed(picture: Image) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "WEBP", quality=QUALITY, method=1)
    return stream.getvalue()
