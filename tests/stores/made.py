"""Small indexes whose every vector is known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CodecName, encode
from docpruner.index.page_map import map_of, pack
from docpruner.index.records import DocumentPages, FileRecord, PageRecord
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Filter
from docpruner.index.store import PageStore
from docpruner.reduce import reducer
from docpruner.types import PageEmbedding

X, Y, Z = np.eye(3, 4)


def unit_vectors(count: int, dim: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def create_store(folder: Path, *, dim: int = 4, codec: CodecName = "float32") -> PageStore:
    return PageStore.create(folder, Settings.new("made", dim, "none", codec))


def page_record(
    number: int,
    vectors: npt.ArrayLike,
    *,
    codec: CodecName = "float32",
    spec: str = "none",
    content: bytes = b"",
    words_from: str = "text layer",
) -> PageRecord:
    """A page of one row of patches, which matter the more the further right they stand."""
    count = len(vectors)
    page = PageEmbedding(f"made#{number}", vectors, np.arange(count), (1, count))
    reduction = reducer(spec)(page)
    return PageRecord(
        number=number,
        size=(600.0, 800.0),
        content=content,
        words_from=words_from,
        rows=encode(reduction.vectors, codec).rows,
        special=0,
        patches=count,
        map=pack(map_of(page, reduction)),
    )


def document(
    path: str,
    pages: Sequence[npt.ArrayLike | PageRecord],
    *,
    version: str = "first",
    of: int | None = None,
    finished: bool = True,
    metadata: Mapping[str, str] | None = None,
) -> DocumentPages:
    """The first pages of a document that has `of`, or no more than these."""
    records = [
        page if isinstance(page, PageRecord) else page_record(number, page)
        for number, page in enumerate(pages, 1)
    ]
    sha256 = hashlib.sha256(version.encode()).digest()
    file = FileRecord(path, sha256, 0, 1000, len(pages) if of is None else of, metadata)
    return DocumentPages(file, records, finished)


def commit(store: PageStore, *documents: DocumentPages) -> None:
    with store.writer() as writer:
        writer.commit(documents)


def found(
    store: PageStore, query: npt.ArrayLike = X, k: int = 10, which: Filter | None = None
) -> list[tuple[str, float]]:
    """Names and scores of the best pages for a query of one vector."""
    (best,) = store.best_pages([np.atleast_2d(np.float32(query))], k, which)
    pages = [(store.page(page_id), score) for page_id, score in best]
    return [(f"{page.document}#{page.number}", score) for page, score in pages]


def segment_files(folder: Path) -> dict[str, int]:
    """The segment files of an index and their sizes."""
    return {path.name: path.stat().st_size for path in sorted((folder / "segments").iterdir())}
