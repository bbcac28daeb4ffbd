"""The real pages that `scale.py` starts from, encoded once by the built-in encoder and kept.

From each package that training/packages.tsv names some pages of PDFs, spread over its documents,
and, if `--data` names a folder with PDFs, all pages of that. Pages of fewer than 20 words and
second copies of a page are left out. What is encoded lies in the cache package by package, so that
a run that was ended goes on; then all is put together in arrays that several processes can map.
The vectors of its document's title page, which an edition may add to a page, are kept apart.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "training"))
import corpus as debian

from docpruner.types import SPECIAL, Page, PageEmbedding

SEED = 5
PAGES_A_PACKAGE, PAGES_A_DOCUMENT = 36, 12
FEWEST_WORDS = 20
AT_ONCE = 16  # pages to the encoder

OF_WORDS = ("vectors", "importance", "boxes", "cells")
OF_PAGES = ("counts", "title_counts", "sizes")
ARRAYS = (*OF_WORDS, "titles", *OF_PAGES, "documents")


@dataclass(frozen=True, eq=False)
class RealPages:
    """Words of many pages one after another; those of page `i` from `starts[i]` to `starts[i + 1]`.

    Pages of a document stand together, so its words do too.
    """

    vectors: np.ndarray  # (words, dim) float16
    importance: np.ndarray  # (words,) float32
    boxes: np.ndarray  # (words, 4) float32
    cells: np.ndarray  # (words,) int32
    titles: np.ndarray  # (title vectors, dim) float16, of each page those of its title page
    starts: np.ndarray  # (pages + 1,)
    title_starts: np.ndarray  # (pages + 1,)
    sizes: np.ndarray  # (pages, 2), in points
    documents: np.ndarray  # (pages,), the number of each one's document
    edition: str  # of the built-in encoder
    folder: Path

    def __len__(self) -> int:
        return len(self.documents)

    @classmethod
    def read(cls, folder: Path) -> Self:
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        starts = np.concatenate([[0], np.cumsum(arrays.pop("counts"))])
        title_starts = np.concatenate([[0], np.cumsum(arrays.pop("title_counts"))])
        edition = (folder / "edition").read_text()
        return cls(
            starts=starts, title_starts=title_starts, edition=edition, folder=folder, **arrays
        )

    @property
    def dim(self) -> int:
        return self.vectors.shape[1]

    def words(self) -> list[list[str]]:
        """Of each page, in the order of its vectors."""
        return json.loads((self.folder / "words.json").read_text())

    @cached_property
    def document_words(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each page: where the words of its document begin, and where they end."""
        first = np.searchsorted(self.documents, self.documents, "left")
        last = np.searchsorted(self.documents, self.documents, "right")
        return self.starts[first], self.starts[last]


def real_pages(cache: Path, data: Path | None, edition: str) -> RealPages:
    """Encoded now, as far as they have not been before."""
    folder = cache / edition / (f"pages-{data.name}-debian" if data else "pages-debian")
    if not folder.exists():
        shards = [*encoded_data(cache, data, edition), *encoded_packages(cache, edition)]
        put_together(shards, folder, edition)
    return RealPages.read(folder)


# ---------------------------------------------------------------------- encoding


def encoded_packages(cache: Path, edition: str) -> Iterator[Path]:
    """The shards of all packages, in order; downloads and unpacks them first."""
    unpacked = cache / "debian" / "pdfs"
    if not unpacked.exists():
        debian.main(cache / "debian")
    for name in debian.package_names():
        chosen = some_pages(
            sorted((unpacked / name).glob("*.pdf")), random.Random(f"{SEED} {name}")
        )
        yield shard(cache / edition / "shards" / f"{name}.npz", chosen, edition)


def encoded_data(cache: Path, data: Path | None, edition: str) -> Iterator[Path]:
    if data is not None:
        for path in sorted((data / "pdfs").glob("*.pdf")):
            place = cache / edition / "shards" / data.name / f"{path.stem}.npz"
            yield shard(place, all_pages(path), edition)


def some_pages(paths: list[Path], chance: random.Random) -> Iterator[tuple[str, Page]]:
    """Of a package: from documents in any order, of each pages in even steps."""
    chance.shuffle(paths)
    left = PAGES_A_PACKAGE
    for path in paths:
        for name, page in pages_of_file(path, min(left, PAGES_A_DOCUMENT)):
            yield name, page
            left -= 1
        if left <= 0:
            return


def all_pages(path: Path) -> Iterator[tuple[str, Page]]:
    return pages_of_file(path, None)


def pages_of_file(path: Path, most: int | None) -> Iterator[tuple[str, Page]]:
    """Pages with enough words of a document, at most so many; none of a file that can't be read."""
    from docpruner.errors import PageError
    from docpruner.pages.reader import PageReader

    with PageReader(pixels=None, title_page=True) as reader:
        try:
            count = reader.open(path)
        except PageError:
            return
        wanted = range(1, count + 1)
        if most is not None and count > most:
            wanted = np.linspace(1, count, most).round().astype(int).tolist()
        for page in reader.pages(wanted):
            if isinstance(page, Page) and len(page.words) >= FEWEST_WORDS:
                yield f"{path.parent.name}/{path.name}", page


@lru_cache
def encoder(edition: str) -> Any:
    """Loaded if there is anything to encode."""
    from docpruner.encoders.builtin import BuiltinEncoder

    return BuiltinEncoder(edition)


def shard(path: Path, pages: Iterable[tuple[str, Page]], edition: str) -> Path:
    """The file of these pages, encoded unless it is there."""
    if path.exists():
        return path
    named: list[tuple[str, Page]] = []
    encoded: list[PageEmbedding] = []
    waiting = iter(pages)
    while some := list(islice(waiting, AT_ONCE)):
        named += some
        encoded += encoder(edition).encode_pages([page for _, page in some])
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".partial")
    with temporary.open("wb") as file:
        np.savez(
            file,
            vectors=joined([words(page, page.vectors).astype(np.float16) for page in encoded]),
            importance=joined([words(page, page.importance) for page in encoded]),
            boxes=joined([words(page, page.boxes) for page in encoded]),
            cells=joined([words(page, page.cells) for page in encoded]),
            counts=np.array([len(page.patches) for page in encoded], np.int64),
            titles=joined([titles(page).astype(np.float16) for page in encoded]),
            title_counts=np.array([len(titles(page)) for page in encoded], np.int64),
            sizes=np.array([page.size for _, page in named], np.float32).reshape(-1, 2),
            hashes=np.array([page.content_hash.hex() for _, page in named], "U64"),
            names=json.dumps([name for name, _ in named]),
            words=json.dumps([[word.text for word in page.words] for _, page in named]),
        )
    temporary.rename(path)
    print(f"{path.stem}: {len(named)} pages", flush=True)
    return path


def words(page: PageEmbedding, values: np.ndarray) -> np.ndarray:
    return values[page.patches]


def titles(page: PageEmbedding) -> np.ndarray:
    return page.vectors[page.cells == SPECIAL]


def joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)


# ---------------------------------------------------------------------- putting together


def put_together(shards: list[Path], folder: Path, edition: str) -> None:
    """All pages of the shards in one array for each kind, without second copies of a page."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ARRAYS}
    texts_of_pages: list[list[str]] = []
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    for path in shards:
        with np.load(path) as stored:
            names, texts = json.loads(str(stored["names"])), json.loads(str(stored["words"]))
            fresh = [
                place
                for place, hash_ in enumerate(stored["hashes"].tolist())
                if not (hash_ in seen or seen.add(hash_))
            ]
            kept = np.isin(np.arange(len(names)), fresh)
            if not fresh:
                continue
            of_words = np.repeat(kept, stored["counts"])
            for name in OF_WORDS:
                parts[name].append(stored[name][of_words])
            parts["titles"].append(stored["titles"][np.repeat(kept, stored["title_counts"])])
            for name in OF_PAGES:
                parts[name].append(stored[name][kept])
        documents = [numbers.setdefault(names[place], len(numbers)) for place in fresh]
        parts["documents"].append(np.array(documents, np.int64))
        texts_of_pages += [texts[place] for place in fresh]
    temporary = folder.with_suffix(".partial")
    temporary.mkdir(parents=True, exist_ok=True)
    for name, arrays in parts.items():
        np.save(temporary / f"{name}.npy", np.concatenate(arrays))
    (temporary / "words.json").write_text(json.dumps(texts_of_pages))
    (temporary / "edition").write_text(edition)
    temporary.rename(folder)
