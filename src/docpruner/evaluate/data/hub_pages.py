"""The pages of a data set of the Hub: pictures in the rows of a table.

In an index each is a document of one page, called by the id that answers use. Pictures are read in
a child process, like files, which they are for that moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from docpruner.errors import PageError
from docpruner.evaluate.data.sampling import some_of
from docpruner.pages.parsed_page import DEFAULT_PIXELS, PIXEL_LIMIT
from docpruner.pages.reader import PageReader, page_or_raise
from docpruner.stores.records import PageName
from docpruner.types import Ocr, Page

if TYPE_CHECKING:
    from PIL.Image import Image

TAIL = 64  # bytes at the end of a picture, where PNGs have a checksum
ENDINGS = (
    (b"\xff\xd8\xff", ".jpg"),
    (b"II", ".tif"),
    (b"MM", ".tif"),
    (b"RIFF", ".webp"),
    (b"", ".png"),  # of anything else, the reader says that it is no image
)


@dataclass(frozen=True, eq=False)
class HubPages:
    """Pictures in the rows of a table; answers call a page by the id of its row."""

    name: str  # of the data set
    key: str
    pictures: Any  # datasets.Dataset with the column image, undecoded
    rows: dict[str, int]  # of each page, by its id

    def source(self, *, pixels: int | None, ocr: Ocr) -> HubSource:
        return HubSource(self, pixels=pixels, ocr=ocr)

    def content_hash(self, document: str) -> bytes | None:
        return self.content_hashes.get(document)

    def page_id(self, page: PageName) -> str:
        return page.document

    def picture(self, page: PageName) -> Image:
        with closing(PictureReader(self, pixels=DEFAULT_PIXELS)) as reader:
            return reader.page(page.document).render()

    def some_pages(self, count: int, *, pixels: int | None, ocr: Ocr) -> list[Page]:
        with closing(PictureReader(self, pixels=_unscaled(pixels), ocr=ocr)) as reader:
            return some_of(list(self.rows), count, reader.page)

    def content(self, page_id: str) -> bytes:
        picture = self.pictures[self.rows[page_id]]["image"]
        content: bytes = (picture or {}).get("bytes") or b""
        return content

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Bytes of each picture."""
        import pyarrow.compute as pc

        sizes = pc.binary_length(self._column()).to_pylist()
        return {page_id: sizes[row] or 0 for page_id, row in self.rows.items()}

    @cached_property
    def content_hashes(self) -> dict[str, bytes]:
        """Of ids, sizes and last bytes; reading all of every picture would take long."""
        import pyarrow.compute as pc

        tails = pc.binary_slice(self._column(), -TAIL).to_pylist()
        return {
            page_id: _digest(page_id, self.sizes[page_id], tails[row] or b"")
            for page_id, row in self.rows.items()
        }

    def _column(self) -> Any:
        import pyarrow.compute as pc

        return pc.struct_field(self.pictures.data.column("image"), "bytes")


class PictureReader:
    """Reads one picture after another, as `PageReader` reads files."""

    def __init__(self, pages: HubPages, *, pixels: int | None, ocr: Ocr = False) -> None:
        self._pages, self._pixels = pages, pixels
        self._reader = PageReader(pixels=pixels, ocr=ocr)
        self._folder = TemporaryDirectory(prefix="docpruner-", ignore_cleanup_errors=True)

    def page(self, page_id: str) -> Page:
        content = self._pages.content(page_id)
        ending = next(ending for magic, ending in ENDINGS if content.startswith(magic))
        path = Path(self._folder.name) / f"picture{ending}"
        try:
            path.write_bytes(content)
            self._reader.open(path)
            (read,) = self._reader.pages([1])
            page = page_or_raise(read)
        except PageError as problem:
            where = f"{self._pages.name}#{page_id}"
            raise PageError(where, problem.reason, problem.remedy) from None
        finally:
            path.unlink(missing_ok=True)
        name = PageName(page_id, 1)
        render = page.render
        if self._pixels is None:  # it would be drawn from the file, which is gone
            render = partial(self._pages.picture, name)
        return replace(page, name=f"{PurePath(page_id).name}#1", render=render)

    def close(self) -> None:
        self._reader.close()
        self._folder.cleanup()


@dataclass(frozen=True, eq=False)
class HubDocument:
    name: str
    content_hash: bytes
    bytes: int
    reader: PictureReader

    def count(self) -> int:
        return 1

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        for _ in numbers:
            try:
                yield self.reader.page(self.name)
            except PageError as problem:
                yield problem


class HubSource:
    """All pages of a data set, to be added to an index that holds nothing else."""

    def __init__(self, pages: HubPages, *, pixels: int | None, ocr: Ocr) -> None:
        self._pages = pages
        self._reader = PictureReader(pages, pixels=_unscaled(pixels), ocr=ocr)
        self.size = sum(pages.sizes.values())

    def documents(self) -> Iterator[HubDocument | PageError]:
        sizes = self._pages.sizes
        for page_id, content_hash in self._pages.content_hashes.items():
            yield HubDocument(page_id, content_hash, sizes[page_id], self._reader)

    def covers(self, document: str) -> bool:  # noqa: ARG002
        return True

    def is_gone(self, document: str) -> bool:
        return document not in self._pages.rows

    def close(self) -> None:
        self._reader.close()


def _unscaled(pixels: int | None) -> int | None:
    """Pictures of a benchmark reach the encoder as they are.

    Scaled twice, a page may get another grid of patches than in mteb and other tools.
    """
    return None if pixels is None else PIXEL_LIMIT


def _digest(page_id: str, size: int, tail: bytes) -> bytes:
    beginning = f"{page_id}\0{size}\0".encode(errors="surrogatepass")
    return hashlib.sha256(beginning + tail).digest()
