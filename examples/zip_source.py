"""A source of one's own: the documents in a ZIP archive. See "Add a source" in CONTRIBUTING.md.

    index.add_from(ZipSource("reports.zip", pixels=index.encoder.pixels))

A document is called `reports.zip/2024/report.pdf`. Files are unpacked one at a time, and read in a
child process like any other.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.files import supported
from docpruner.pages.reader import PageReader
from docpruner.types import Page


@dataclass
class ZippedDocument:
    name: str
    bytes: int
    content_hash: bytes
    path: Path  # where it was unpacked
    reader: PageReader

    def count(self) -> int:
        return self.reader.open(self.path)

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        self.reader.open(self.path)
        return self.reader.pages(numbers)


class ZipSource:
    def __init__(self, archive: str | Path, *, pixels: int | None) -> None:
        self._archive = Path(archive)
        with zipfile.ZipFile(self._archive) as opened:
            self._members = [each for each in opened.infolist() if supported(each.filename)]
        self.size = sum(member.file_size for member in self._members)
        self._reader = PageReader(pixels=pixels, title_page=True)

    def documents(self) -> Iterator[ZippedDocument | PageError]:
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(self._archive) as archive:
            for member in self._members:
                name = f"{self._archive.name}/{member.filename}"
                content = archive.read(member)
                path = Path(folder) / f"document{Path(member.filename).suffix}"
                path.write_bytes(content)
                digest = hashlib.sha256(content).digest()
                yield ZippedDocument(name, len(content), digest, path, self._reader)

    def close(self) -> None:
        self._reader.close()
