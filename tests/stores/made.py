"""Small indexes whose every vector is known."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CodecName, encode
from docpruner.reduce import reducer
from docpruner.stores.contract import Store
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.page_map import map_of
from docpruner.stores.page_text import PageText
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Filter, Metadata, PageEmbedding, Word

X, Y, Z = np.eye(3, 4)


def unit_vectors(count: int, dim: int, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def settings_of(*, dim: int = 4, codec: CodecName = "float32", spec: str = "none") -> Settings:
    return Settings.new("made", dim, spec, codec)


def create_folder(folder: Path, *, dim: int = 4, codec: CodecName = "float32") -> FolderStore:
    return FolderStore.create(str(folder), settings_of(dim=dim, codec=codec))


def made_page(
    number: int,
    vectors: npt.ArrayLike,
    *,
    codec: CodecName = "float32",
    spec: str = "none",
    content_hash: bytes = b"",
    words_from: str = "text layer",
    text: str = "",
) -> StoredPage:
    """A page of one row of patches, which matter the more the further right they stand."""
    count = len(vectors)
    page = PageEmbedding(f"made#{number}", vectors, np.arange(count), (1, count))
    reduction = reducer(spec)(page)
    return StoredPage(
        document="made",
        number=number,
        size=(600.0, 800.0),
        words_from=words_from,
        vectors=encode(reduction.vectors, codec),
        provenance=map_of(page, reduction),
        content_hash=content_hash,
        text=PageText.of(placed(text)) if text else PageText(),
    )


def placed(text: str) -> list[Word]:
    """The words of a text, line by line, eight to a line at most."""
    lines = [line.split() for line in text.splitlines()]
    return [
        Word(word, (column / 8, row / 9, (column + 0.9) / 8, (row + 0.9) / 9))
        for row, line in enumerate(lines)
        for column, word in enumerate(line)
    ]


def document(
    name: str,
    pages: Sequence[npt.ArrayLike | StoredPage],
    *,
    version: str = "first",
    of: int | None = None,
    finished: bool = True,
    metadata: Metadata | None = None,
) -> DocumentPages:
    """The first pages of a document that has `of`, or no more than these."""
    records = [
        page if isinstance(page, StoredPage) else made_page(number, page)
        for number, page in enumerate(pages, 1)
    ]
    record = DocumentRecord(
        name, content_of(version), 1000, len(pages) if of is None else of, metadata
    )
    return DocumentPages(record, records, finished)


def content_of(version: str) -> bytes:
    return hashlib.sha256(version.encode()).digest()


def commit(store: Store, *documents: DocumentPages) -> None:
    with store.writer() as writer:
        writer.commit(documents)


def found(
    store: Store, query: npt.ArrayLike = X, k: int = 10, which: Filter | None = None
) -> list[tuple[str, float]]:
    """Names and scores of the best pages for a query of one vector."""
    with store.reader() as reader:
        (best,) = reader.rank([np.atleast_2d(np.float32(query))], k, which or Filter())
    return [(f"{page.document}#{page.number}", page.score) for page in best]


def said(store: Store, query: str, k: int = 10, which: Filter | None = None) -> list[str]:
    """Names of the pages whose words fit a query best."""
    with store.reader() as reader:
        ranked = reader.rank_text(query, k, which or Filter())
    assert [page.score for page in ranked] == sorted((p.score for p in ranked), reverse=True)
    return [f"{page.document}#{page.number}" for page in ranked]


def stats_of(store: Store):
    with store.reader() as reader:
        return reader.stats()


def page_of(store: Store, name: str, number: int) -> StoredPage | None:
    with store.reader() as reader:
        return reader.page(name, number)


def known(store: Store, name: str, version: str = "first"):
    with store.reader() as reader:
        return reader.known(name, content_of(version))


def documents_of(store: Store):
    with store.reader() as reader:
        return list(reader.documents())


def segment_files(folder: Path) -> dict[str, int]:
    """The segment files of an index and their sizes."""
    return {path.name: path.stat().st_size for path in sorted((folder / "segments").iterdir())}
