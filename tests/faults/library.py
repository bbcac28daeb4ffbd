"""Folders of small PDFs, and what an index has of them, in a form that can be compared."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from pathlib import Path

from fpdf import FPDF

from docpruner.facade import Index
from docpruner.stores.locations import open_store
from docpruner.stores.records import StoredPage
from docpruner.types import Filter
from faults.words import WordEncoder

WORDS = (
    *("harbour", "quay", "tide", "crane", "ballast", "manifest", "pilot", "berth", "cargo"),
    *("draught", "hawser", "lighthouse", "mooring", "rudder", "salvage", "tonnage", "wharf"),
    *("anchor", "beacon", "buoy", "captain", "customs", "dredger", "estuary", "ferry", "galley"),
)
QUERIES = ("harbour pilot", "tonnage of the ferry", "version second")
ALL = 100_000  # more hits than any library has pages

PageKey = tuple[str, int]  # path and number


@dataclass(frozen=True)
class Stored:
    """What an index has of a page: its vectors, its map and its words, and how it answers."""

    digest: str
    scores: tuple[float, ...]
    said: tuple[bool, ...] = ()  # whether full-text search finds it, by each of the queries


Contents = dict[PageKey, Stored]


def pdf(name: str, pages: int, version: str = "first", words: int = 25) -> bytes:
    """Every page has words that no other page has in the same order, and says what it is."""
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=8)
    for number in range(1, pages + 1):
        chosen = random.Random(f"{name} {version} {number}").choices(WORDS, k=words)
        document.add_page()
        document.text(20, 30, f"{name} page{number} version {version}")
        for line in range(0, words, 8):
            document.text(20, 50 + 2 * line, " ".join(chosen[line : line + 8]))
    return bytes(document.output())


@dataclass(frozen=True)
class Library:
    """A folder, and the bytes and page counts of what is to lie in it."""

    folder: Path
    files: dict[str, tuple[int, bytes]]

    def written(self) -> Library:
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name, (_, content) in self.files.items():
            (self.folder / name).write_bytes(content)
        return self

    @property
    def keys(self) -> list[PageKey]:
        """All pages, in the order in which they are indexed."""
        return [
            (str(self.folder / name), number)
            for name in sorted(self.files)
            for number in range(1, self.files[name][0] + 1)
        ]

    def stored_keys(self, index: Path) -> set[PageKey]:
        """The pages of these files that an index has, also of documents still on their way in."""
        found: set[PageKey] = set()
        with open_store(index) as store, store.reader() as reader:
            for name, (_, content) in self.files.items():
                path = str(self.folder / name)
                known = reader.known(path, hashlib.sha256(content).digest())
                found |= {(path, number) for number in (known.there if known else ())}
        return found


def library(folder: Path, pages: dict[str, int], version: str = "first") -> Library:
    return Library(
        folder, {name: (count, pdf(name, count, version)) for name, count in pages.items()}
    )


def contents(index: Index) -> Contents:
    """Everything that can be had from an index, page by page, by all of its ways."""
    scores: dict[PageKey, list[float]] = {}
    for hits in index.search_many(QUERIES, ALL):
        for hit in hits:
            scores.setdefault((hit.document, hit.page), []).append(hit.score)
    with index.reader() as reader:
        ranked = [reader.rank_text(query, ALL, Filter()) for query in QUERIES]
    said = [{(page.document, page.number) for page in pages} for pages in ranked]
    found = {}
    for document in index.documents():
        for number in range(1, document.pages + 1):
            page = index.page(document.name, number)
            if page is not None:
                key = document.name, number
                by_text = tuple(key in pages for pages in said)
                found[key] = Stored(digest(page), tuple(scores.pop(key, ())), by_text)
    unknown = {key: Stored("", tuple(told)) for key, told in scores.items()}  # in no sound index
    return found | unknown


def contents_of(folder: Path) -> Contents:
    with Index.open(folder, encoder=WordEncoder()) as index:
        return contents(index)


def digest(page: StoredPage) -> str:
    made = hashlib.blake2b(page.vectors.decode().tobytes() + page.text.packed)
    made.update(repr(page.provenance.grid).encode())
    importance = page.provenance.importance
    origin = page.provenance
    arrays = (origin.cells, origin.boxes, origin.sources, origin.offsets)
    for array in (*arrays, *(() if importance is None else (importance,))):
        made.update(array.tobytes())
    return made.hexdigest()
