"""Any number of pages for `scale.py`, made of real ones, and their way into an index.

    python benchmarks/scale_corpus.py --pages 100000 --cache CACHE --work WORK [--data FOLDER]

The first pages are the real ones (`scale_pages.py`), with the vectors of their title pages. Page n
beyond them is one of these, drawn at random (long ones more often, which makes up for what is
dropped), with a share of its words dropped and a share exchanged, each between 5 and 30 %, and all
its vectors blurred: noise of 10 to 40 % of their length. Half of the words that come in are from
the same document, half from anywhere; each brings its own vector and importance; the title page
stays. So every page has near duplicates, as forms, editions and drafts have, but no copies. A page
depends on the seed and its number alone, whatever the size of the corpus.

Pages are then pruned and stored as any. The first call encodes the real pages, two to five a second
on two cores; a million pages then take some 40 minutes of processor time. A run that was ended goes
on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import numpy as np
from scale_pages import RealPages, real_pages
from search_corpus import GRID, PAGES_A_DOCUMENT, SPEC, path_of
from search_systems import digest

from docpruner.codecs import CODEC_NAMES, CodecName, Encoded, encode
from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.reduce.threshold import above, adaptive_tau, unwarned
from docpruner.stores.contract import Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.page_map import PageMap, importance_codes, importance_of
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import SPECIAL

SEED = 7
K_OF_SPEC = -0.25
CHANGED = (0.05, 0.3)  # share of the words that are dropped, and of the rest that are exchanged
BLURRED = (0.1, 0.4)  # length of the noise, as a share of the vector's
LONGER_LIKELIER = 0.6  # power of a page's words, so that pages are as long as without dropping
FROM_OWN_DOCUMENT = 0.5  # share of the words that come in
BATCH, COMMIT = 40, 2000  # pages made at once (larger arrays leave the caches), and committed
MAKERS = 2  # processes; another one writes


# ---------------------------------------------------------------------- pages


@dataclass(frozen=True, eq=False)
class Draft:
    """A page before its vectors are read: which words stand where, and which are kept."""

    number: int
    real: int  # the page that it was made of
    places: np.ndarray  # rows of real words, whose boxes it has
    kept: np.ndarray  # of these, as numbers within the page
    words: np.ndarray  # rows of real words, of which the kept vectors are
    importance: np.ndarray
    titles: np.ndarray  # rows of real title vectors, which come after the kept
    noise: np.ndarray | None  # for the kept vectors and these

    def __len__(self) -> int:
        """Stored vectors."""
        return len(self.kept) + len(self.titles)


def draft(real: RealPages, number: int) -> Draft:
    chance = np.random.default_rng((SEED, number))
    base = number if number < len(real) else chosen(real, chance)
    places = np.arange(*real.starts[base : base + 2])
    words = places
    if number >= len(real):
        places = places[chance.random(len(places)) >= chance.uniform(*CHANGED)]
        words = places.copy()
        changed = np.flatnonzero(chance.random(len(words)) < chance.uniform(*CHANGED))
        begin, end = (edges[base] for edges in real.document_words)
        near = chance.integers(begin, end, len(changed))
        far = chance.integers(len(real.vectors), size=len(changed))
        own = chance.random(len(changed)) < FROM_OWN_DOCUMENT
        words[changed] = np.where(own, near, far)
    importance = importance_of(*importance_codes(real.importance[words], real.cells[places]))
    with unwarned():
        kept = above(importance, adaptive_tau(importance, K_OF_SPEC), str(number))
    kept = np.flatnonzero(kept).astype(np.int32)
    titles = np.arange(*real.title_starts[base : base + 2])
    noise = None
    if number >= len(real):
        noise = chance.standard_normal((len(kept) + len(titles), real.dim), np.float32)
        noise *= np.float32(chance.uniform(*BLURRED) / real.dim**0.5)
    return Draft(number, base, places, kept, words[kept], importance, titles, noise)


@lru_cache(1)
def shares(real: RealPages) -> np.ndarray:
    return np.cumsum(np.diff(real.starts) ** LONGER_LIKELIER)


def chosen(real: RealPages, chance: np.random.Generator) -> int:
    ends = shares(real)
    return int(np.searchsorted(ends, chance.random() * ends[-1], "right"))


def vectors_of(real: RealPages, drafts: Sequence[Draft]) -> np.ndarray:
    """Those that are kept, page after page; on a page all are as long as they were."""
    words = real.vectors[np.concatenate([page.words for page in drafts])]
    titles = real.titles[np.concatenate([page.titles for page in drafts])]
    pages = np.arange(len(drafts))
    order = np.argsort(
        np.concatenate([
            np.repeat(pages, [len(page.kept) for page in drafts]),
            np.repeat(pages, [len(page.titles) for page in drafts]),
        ]),
        kind="stable",
    )  # fmt: skip
    vectors = np.concatenate([words, titles])[order].astype(np.float32)
    counts = [len(page) for page in drafts]
    starts = real.starts[[page.real for page in drafts]]
    lengths = np.repeat(np.linalg.norm(real.vectors[starts].astype(np.float32), axis=1), counts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for page, end in zip(drafts, np.cumsum(counts).tolist(), strict=True):
        if page.noise is not None:
            vectors[end - len(page.noise) : end] += page.noise
    vectors *= (lengths / np.linalg.norm(vectors, axis=1))[:, None]
    return vectors


def made_pages(real: RealPages, numbers: Sequence[int], codec: CodecName) -> list[StoredPage]:
    drafts = [draft(real, number) for number in numbers]
    rows = encode(vectors_of(real, drafts), codec).rows
    ends = np.cumsum([len(page) for page in drafts]).tolist()
    return [
        stored(real, page, Encoded(codec, real.dim, rows[end - len(page) : end]))
        for page, end in zip(drafts, ends, strict=True)
    ]


def stored(real: RealPages, page: Draft, vectors: Encoded) -> StoredPage:
    width, height = real.sizes[page.real].tolist()
    words, titles = len(page.places), len(page.titles)
    return StoredPage(
        document=path_of(page.number),
        number=page.number % PAGES_A_DOCUMENT + 1,
        size=(width, height),
        words_from="text layer",
        vectors=vectors,
        provenance=PageMap(
            grid=GRID,
            cells=np.append(real.cells[page.places], np.full(titles, SPECIAL, np.int32)),
            boxes=np.concatenate([real.boxes[page.places], np.zeros((titles, 4), np.float32)]),
            importance=np.append(page.importance, np.zeros(titles, np.float32)),
            sources=np.append(page.kept, np.arange(words, words + titles, dtype=np.int32)),
            offsets=np.arange(len(page) + 1, dtype=np.int32),
        ),
        content_hash=digest(str(page.number)),
    )


# ---------------------------------------------------------------------- into an index


def load(folder: Path, real: RealPages, pages: int, codec: CodecName) -> float:
    """An index of so many pages, as far as it is not there; the seconds that this took."""
    with opened(folder, real, codec) as store, store.writer() as writer:
        with store.reader() as reader:
            there = reader.stats().documents * PAGES_A_DOCUMENT
        start = time.perf_counter()
        waiting: list[StoredPage] = []
        for made in all_made(real, range(there, pages), codec):
            waiting += made
            there += len(made)
            if len(waiting) >= COMMIT or there == pages:
                writer.commit(documents_of(waiting))
                waiting = []
                spent = time.perf_counter() - start
                print(f"{there:,} of {pages:,} pages, {spent:,.0f} s", flush=True)
        return time.perf_counter() - start


def opened(folder: Path, real: RealPages, codec: CodecName) -> Store:
    """The index, new or as an earlier run has left it; not one that was made of other pages."""
    made_of = {
        "edition": real.edition, "real_pages": len(real), "real_words": len(real.vectors),
        "seed": SEED,
    }  # fmt: skip
    note = folder.with_suffix(".json")
    if not store_exists(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps(made_of))
        return create_store(folder, Settings.new(real.edition, real.dim, SPEC, codec))
    if json.loads(note.read_text()) != made_of:
        raise SystemExit(
            f"{folder} was made of other real pages; remove it, or give another --work"
        )
    return open_store(folder)


def documents_of(pages: Sequence[StoredPage]) -> list[DocumentPages]:
    documents: dict[str, list[StoredPage]] = {}
    for page in pages:
        documents.setdefault(page.document, []).append(page)
    return [
        DocumentPages(DocumentRecord(name, digest(name), 100_000, len(those)), those, True)
        for name, those in documents.items()
    ]


def all_made(real: RealPages, numbers: range, codec: CodecName) -> Iterator[list[StoredPage]]:
    """In order, made ahead by other processes."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for them: they share the cores already
    context = get_context("spawn")
    waiting: deque[Future[list[StoredPage]]] = deque()
    with ProcessPoolExecutor(MAKERS, context, _map_real_pages, (real.folder,)) as pool:
        for first in numbers[::BATCH]:
            some = numbers[first - numbers.start :][:BATCH]
            waiting.append(pool.submit(_made, some, codec))
            if len(waiting) > 2 * MAKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


_mapped: list[RealPages] = []


def _map_real_pages(folder: Path) -> None:
    _mapped.append(RealPages.read(folder))
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Else the makers of a loader that was killed would wait for work forever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _made(numbers: range, codec: CodecName) -> list[StoredPage]:
    return made_pages(_mapped[0], numbers, codec)


def place_of(work: Path, pages: int, codec: CodecName) -> Path:
    return work / f"{pages}-{codec}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those that `scale.py` has too."""
    parser.add_argument("--cache", type=Path, required=True, help="for the real pages, encoded")
    parser.add_argument("--work", type=Path, required=True, help="for the indexes")
    parser.add_argument("--data", type=Path, help="a folder with pdfs/ and queries.jsonl")
    parser.add_argument("--pages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--codec", choices=CODEC_NAMES, default="int2")
    parser.add_argument("--edition", choices=EDITIONS, default=NEWEST.name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    given = parser.parse_args()
    real = real_pages(given.cache, given.data, given.edition)
    for pages in given.pages:
        spent = load(place_of(given.work, pages, given.codec), real, pages, given.codec)
        print(f"{pages:,} pages: {spent:,.0f} s")


if __name__ == "__main__":
    main()
