"""Documents to index, and encoders to index them with."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from fpdf import FPDF

import docpruner
from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.errors import EncoderError
from docpruner.types import Page, PageEmbedding

SAMPLES = Path(docpruner.__file__).parent / "samples"
SAMPLE_PDFS = sorted(SAMPLES.glob("*.pdf"))
UNREADABLE = "unreadable"


@cache
def builtin() -> BuiltinEncoder:
    return BuiltinEncoder()


class WordEncoder:
    """Gives each word a direction of its own, and lets it matter as much as it is long.

    Refuses pages with the word `unreadable`, and all others with them.
    """

    name, dim, prompt, pixels, reads = "words", 16, "default", None, "words"

    def __init__(self) -> None:
        self.encoded: list[str] = []  # names of pages, in their order

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.stack([direction(word) for word in text.split()]) for text in texts]

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        if any(word.text == UNREADABLE for page in pages for word in page.words):
            raise EncoderError("a word is unreadable")
        self.encoded += [page.name for page in pages]
        return [embedding(page) for page in pages]


class SteppingEncoder(WordEncoder):
    """Prepares pages in one thread and runs in another; notes which pages came together."""

    reads, pixels, batch_size = "pixels", 20_000, 3

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[str]] = []
        self.words: set[str] = set()  # that it was given, though it looks at pictures
        self.threads: dict[str, set[str]] = {"prepare": set(), "run": set(), "collect": set()}

    def prepare(self, pages: Sequence[Page]) -> Sequence[Page]:
        self._note("prepare")
        self.words |= {word.text for page in pages for word in page.words}
        if any(page.size[0] > 10_000 for page in pages):
            raise EncoderError("a page is too wide")
        return pages

    def run(self, pages: Sequence[Page]) -> Callable[[], list[PageEmbedding]]:
        self._note("run")
        self.batches.append([page.name for page in pages])

        def collect() -> list[PageEmbedding]:
            self._note("collect")
            return [page_of(page.name) for page in pages]

        return collect

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        return self.run(self.prepare(pages))()

    def _note(self, what: str) -> None:
        self.threads[what].add(threading.current_thread().name)


def page_of(name: str) -> PageEmbedding:
    return PageEmbedding(name, direction(name)[None], [1.0], (1, 1))


def direction(word: str) -> np.ndarray:
    drawn = np.random.default_rng(zlib.crc32(word.encode())).normal(size=16)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def embedding(page: Page) -> PageEmbedding:
    texts = [word.text for word in page.words] or ["nothing"]
    boxes = [word.box for word in page.words] or [(0, 0, 1, 1)]
    vectors = np.stack([direction(text) for text in texts])
    lengths = [len(text) for text in texts]
    return PageEmbedding(page.name, vectors, lengths, (1, len(texts)), np.arange(len(texts)), boxes)


def sized_pdf(path: Path, *sizes: tuple[float, float]) -> Path:
    """A PDF with pages of these widths and heights, no two of them alike."""
    document = FPDF(unit="pt")
    document.set_font("helvetica", size=12)
    for number, size in enumerate(sizes):
        document.add_page(format=size)
        document.text(20, 20, f"page{number}")
    document.output(str(path))
    return path


def text_pdf(path: Path, *pages: str) -> Path:
    """A PDF with a line of text on each page."""
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=12)
    for text in pages:
        document.add_page()
        document.text(40, 100, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    document.output(str(path))
    return path
