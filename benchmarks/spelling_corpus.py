"""Pages and headings for the benchmarks of spelling: PDFs out of Debian packages, encoded once.

What the model alone says of each word (vector, attention) is kept in CACHE, so that rules of
mixing spelling in can be compared in seconds. Needs apt-get and dpkg-deb; nothing is installed.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pypdfium2

from docpruner import PageEmbedding
from docpruner.encoders.builtin import (
    GRID,
    BuiltinEncoder,
)
from docpruner.encoders.builtin_spelling import Spelling
from docpruner.pages.text_layer import words_of_page

LANGUAGES = ("en", "de", "fr", "es", "ru", "zh", "ja")


@dataclass(frozen=True, eq=False)
class ReadPages:
    """The words of pages, and what the model alone says of each."""

    words: list[list[str]]
    vectors: list[np.ndarray]  # unit length, float16
    attention: list[np.ndarray]


@dataclass(frozen=True)
class Heading:
    text: str
    page: int
    place: int  # among the headings of its manual, which translations share


@dataclass(frozen=True)
class Manual:
    pages: ReadPages
    headings: list[Heading]


class Reading:
    """The built-in encoder's vectors from what the model alone says, with spelling or without."""

    def __init__(self, edition: str, *, spelt: bool) -> None:
        self.encoder = BuiltinEncoder(edition, threads=2)
        self.constants = self.encoder.edition
        self.spelling = Spelling(self.encoder._windows.pieces) if spelt else None
        self.encoder._spelling = self.spelling

    def page(
        self, name: str, words: list[str], vectors: np.ndarray, attention: np.ndarray
    ) -> PageEmbedding:
        if self.spelling:
            vectors = self.spelling.mixed(words, vectors)
        importance = attention * self.encoder._worth(words)
        return PageEmbedding(
            name,
            vectors * self.constants.length_factor(len(words)),
            importance * len(words) / importance.sum(),
            GRID,
            np.zeros(len(words), np.int32),
        )

    def query(self, text: str) -> np.ndarray:
        words = self.encoder.query_words(text)
        vectors, factors = self.encoder._model(words, ("vectors", "weights"))
        if self.spelling:
            vectors = self.spelling.mixed(words, vectors)
        counts = self.encoder._counts(words, factors)
        return (vectors * counts[:, None]).astype(np.float32)

    def model(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Vectors and attention of the words of a page, by the model alone."""
        vectors, attention = self.encoder._model(words, ("vectors", "importance"))
        return vectors, attention

    def pages(self, kept: Path, words: list[list[str]]) -> ReadPages:
        """Of all pages; read from the file if they were kept there."""
        ends = np.cumsum([len(page) for page in words])[:-1]
        kept = kept.with_name(f"{kept.name}.{Path(self.constants.model_file).stem}.npz")
        if not kept.exists():
            found = []
            with ThreadPoolExecutor(2) as pool:
                for vectors, attention in pool.map(self.model, [page for page in words if page]):
                    found.append((vectors.astype(np.float16), attention))
                    print(f"\r{len(found)} pages", end="", file=sys.stderr, flush=True)
            arrays = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
            kept.parent.mkdir(parents=True, exist_ok=True)
            np.savez(kept, vectors=arrays[0], attention=arrays[1])
        stored = np.load(kept)
        parts = (np.split(stored[name], ends) for name in ("vectors", "attention"))
        return ReadPages(words, *map(list, parts))


def pdf_of(cache: Path, package: str, ending: str) -> Path:
    """The PDF of a Debian package whose path ends so."""
    debs = cache / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    written = cache / "pdfs" / f"{package}_{ending.replace('/', '_')}"
    if written.exists():
        return written
    if not list(debs.glob(f"{package}_*.deb")):
        subprocess.run(["apt-get", "download", "--quiet", package], cwd=debs, check=True)
    deb = sorted(debs.glob(f"{package}_*.deb"))[-1]
    written.parent.mkdir(exist_ok=True)
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as dpkg,
        tarfile.open(fileobj=dpkg.stdout, mode="r|") as archive,
    ):
        for member in archive:
            if member.isfile() and member.name.removesuffix(".gz").endswith(ending):
                stream = archive.extractfile(member)
                content = stream.read() if stream else b""
                packed = member.name.endswith(".gz")
                written.write_bytes(gzip.decompress(content) if packed else content)
    return written


def words_of(path: Path) -> list[list[str]]:
    with pypdfium2.PdfDocument(path) as document:
        return [[word.text for word in words_of_page(page)] for page in document]


def outline(path: Path) -> list[tuple[str, int]]:
    """Titles of the PDF's bookmarks and the pages they lead to."""
    with pypdfium2.PdfDocument(path) as document:
        found = []
        for bookmark in document.get_toc():
            target = bookmark.get_dest()
            page = target.get_index() if target else None
            found.append((bookmark.get_title().strip(), -1 if page is None else page))
        return found


def manual(cache: Path, path: Path, reading: Reading) -> Manual:
    """Pages behind the table of contents, and the headings that stand in one place only."""
    titles = outline(path)
    first = min(page for _, page in titles if page > 1)
    times = Counter(title for title, _ in titles)
    pages = reading.pages(cache / path.stem, words_of(path)[first:])
    headings = [
        Heading(title, page - first, place)
        for place, (title, page) in enumerate(titles)
        if times[title] == 1 and page >= first and pages.words[page - first]
    ]
    return Manual(pages, headings)


def installation_guide(cache: Path, language: str) -> Path:
    name = "zh_CN" if language == "zh" else language
    return pdf_of(cache, "installation-guide-amd64", f"/install.{name}.pdf")


def maint_guide(cache: Path, language: str) -> Path:
    name = "zh-cn" if language == "zh" else language
    package = "maint-guide" if language == "en" else f"maint-guide-{name}"
    return pdf_of(cache, package, f"/maint-guide.{name}.pdf")


def last_line(result: object) -> None:
    print(json.dumps(result))
