"""The pages of a data set of the Hub: pictures in the rows of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from docpruner.encoders.registry import Encoder
from docpruner.errors import DataError, PageError
from docpruner.evaluate.sampling import some_of
from docpruner.index.records import FileRecord
from docpruner.index.store import PageStore
from docpruner.pages.document import Document
from docpruner.pages.images import ImageFile
from docpruner.pages.leaf import DEFAULT_PIXELS
from docpruner.pipeline.add import MOST_PAGES, AddRun, Watch
from docpruner.pipeline.ahead import ahead
from docpruner.pipeline.reading import DocumentEnd, PageRead, Reading
from docpruner.pipeline.records import RecordMaker
from docpruner.pipeline.report import Fate
from docpruner.types import Page

if TYPE_CHECKING:
    from PIL.Image import Image

TAIL = 64  # bytes at the end of a picture, where PNGs have a checksum


@dataclass(frozen=True, eq=False)
class HubSource:
    """In a store the data set is one document, and its pages are numbered in their order."""

    name: str  # also the document's
    pictures: Any  # datasets.Dataset with the column image, undecoded
    rows: tuple[int, ...]  # of each page
    ids: tuple[str, ...]  # of each page, as answers name it

    def fingerprint(self) -> str:
        """Of ids, sizes and the last bytes of pictures; reading all of them would take long."""
        import pyarrow.compute as pc  # type: ignore[import-untyped]

        picture = pc.struct_field(self.pictures.data.column("image"), "bytes")
        sizes = pc.binary_length(picture).to_pylist()
        tails = pc.binary_slice(picture, -TAIL).to_pylist()
        digest = hashlib.blake2b(digest_size=16)
        for page_id, row in zip(self.ids, self.rows, strict=True):
            digest.update(f"{page_id}\0{sizes[row]}\0".encode(errors="surrogatepass"))
            digest.update(tails[row] or b"")
        return digest.hexdigest()

    def page_id(self, document: str, number: int) -> str:  # noqa: ARG002  # there is one only
        return self.ids[number - 1]

    def picture(self, document: str, number: int) -> Image:  # noqa: ARG002
        with self._document(number) as file:
            return file.draw(1, DEFAULT_PIXELS)

    def some_pages(self, count: int, *, pixels: int | None, ocr: bool) -> list[Page]:
        numbers = range(1, len(self.ids) + 1)
        return some_of(numbers, count, lambda number: self._page(number, pixels, ocr))

    def fill(self, store: PageStore, encoder: Encoder, *, ocr: bool, watch: Watch | None) -> None:
        readings = self._readings(store, encoder.pixels, ocr)
        with (
            store.writer() as writer,
            closing(ahead(readings, size=MOST_PAGES // 2)) as coming,  # type: ignore[type-var]
        ):
            maker = RecordMaker(store, encoder, writer.settings)
            run = AddRun(
                writer, maker, len(self.ids), reads_words=encoder.pixels is None, watch=watch
            )
            report = run.over(coming)
        if report.outcome == "none":
            raise DataError(f"{self.name}: no page can be read; {report.problems[0]}")

    def _readings(self, store: PageStore, pixels: int | None, ocr: bool) -> Iterator[Reading]:
        """The pages that a store lacks, one after another."""
        content = bytes.fromhex(self.fingerprint())
        count = len(self.ids)
        file = FileRecord(self.name, content, mtime_ns=0, bytes=count, pages=count)
        known = store.known(self.name, content)
        missing = set(range(1, count + 1))
        fate: Fate = "replaced" if store.has(self.name) else "added"
        if known is not None:
            missing -= known.there - (known.without_words if ocr else frozenset())
            fate = "completed" if missing else "unchanged"
        any_good = known is not None
        for number in sorted(missing):
            try:
                page = self._page(number, pixels, ocr)
            except PageError as problem:
                yield PageError(self.name, problem.reason, problem.remedy, number)
            else:
                any_good = True
                yield PageRead(file, page)
        if any_good:
            yield DocumentEnd(file, fate, changed=known is None or not known.whole)

    def _page(self, number: int, pixels: int | None, ocr: bool) -> Page:
        with self._document(number) as document:
            leaf = document.leaf(1, pixels=pixels, ocr=ocr)
        draw = partial(self.picture, self.name, number)
        return replace(leaf, number=number).page(Path(self.name), draw)

    @contextmanager
    def _document(self, number: int) -> Iterator[Document]:
        """A picture as an image file, which is then refused, turned and scaled as any other."""
        content = self.pictures[self.rows[number - 1]]["image"]
        with TemporaryDirectory(prefix="docpruner-") as folder:
            path = Path(folder) / "picture"
            path.write_bytes((content or {}).get("bytes") or b"")
            with Document(path, ImageFile(path)) as document:
                yield document
