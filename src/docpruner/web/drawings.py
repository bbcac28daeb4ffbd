"""Pages as pictures: drawn in child processes, kept for the next who asks."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.stores.records import DocumentEntry, StoredPage
from docpruner.web.error_responses import Refused
from docpruner.web.indexed_files import FileState, IndexedFiles
from docpruner.web.lru_cache import LruCache
from docpruner.web.readers import DRAWING_SECONDS, ReaderPool

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL, MOST = 250_000, 6_000_000  # pixels, of a thumbnail and of any picture
SMALL_READERS, LARGE_READERS = 2, 2  # thumbnails need not wait for large pictures
LETTERED = 1_500_000  # pixels, of what has letters of its own
BYTES_KEPT = 96 << 20
QUALITY = 88
SLACK = 1.1  # pixels drawn for one that is needed, as sizes are rounded

Overlay = Callable[["Image"], "Image"]


@dataclass(frozen=True)
class Drawing:
    """A page to draw: from this file, so wide, with something over it."""

    entry: DocumentEntry
    page: StoredPage
    width: int
    overlay: Overlay | None = None
    what: str = ""  # the overlay, in words that tell it from any other

    def tag(self, file: FileState) -> str:
        """Another one whenever the picture would be another."""
        text = repr((file, self.page.number, self.width, self.what))
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()

    @property
    def pixels(self) -> int:
        """How large to draw it; what has letters over it is drawn large, as letters shrink well."""
        width, height = self.page.size
        share = height / width if min(width, height) > 0 else 1.0
        least = 0 if self.overlay is None else LETTERED
        return round(min(max(SLACK * self.width**2 * share, least), MOST))


class Drawings:
    def __init__(self, files: IndexedFiles) -> None:
        self._files = files
        self._small = ReaderPool(SMALL_READERS, seconds=DRAWING_SECONDS)
        self._large = ReaderPool(LARGE_READERS, seconds=DRAWING_SECONDS)
        self._kept: LruCache[str, bytes] = LruCache(BYTES_KEPT)

    def warm_up(self) -> None:
        self._small.warm_up()
        self._large.warm_up()

    def close(self) -> None:
        self._small.close()
        self._large.close()

    def tag(self, drawing: Drawing) -> str:
        """What tells the picture from any other; refused if its file is not what was indexed."""
        return drawing.tag(self._files.state(drawing.entry))

    def draw(self, drawing: Drawing, tag: str) -> bytes:
        """A picture as WebP, made once."""
        packed = self._kept.get(tag)
        if packed is None:
            packed = _packed(self.picture(drawing, tag))
            self._kept.put(tag, packed, len(packed))
        return packed

    def picture(self, drawing: Drawing, tag: str) -> Image:
        """The picture itself; `tag` is what `Drawings.tag` said of it."""
        pixels = drawing.pixels
        readers = self._small if pixels <= SMALL else self._large
        path = self._files.state(drawing.entry).path
        picture = readers.picture(path, drawing.page.number, pixels)
        if drawing.overlay is not None:
            picture = drawing.overlay(picture)
        if self.tag(drawing) != tag:  # somebody was at the file meanwhile
            raise Refused(409, "the file has just been changed; try again")
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
