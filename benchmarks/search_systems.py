"""The systems that `search.py` compares: how each is filled, and how it is searched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from search_corpus import DIM, PAGES_A_DOCUMENT, SPEC, TOKENS, K, Pages, path_of

Search = Callable[[int], list[int]]  # from the number of a query to its pages, the best first


@dataclass(frozen=True)
class System:
    """A contender; `open` gives a way to search what `build` has written."""

    module: str
    build: Callable[[Path, Iterable[Pages]], None]
    open: Callable[[Path, list[np.ndarray]], Search]


# ---------------------------------------------------------------------- docpruner


class GivenQueries:
    """Stands for an encoder: a query's text is its number, its vectors are known."""

    name, dim, prompt, pixels, reads = "benchmark", DIM, "default", None, "words"

    def __init__(self, queries: list[np.ndarray]) -> None:
        self._queries = queries

    def query_words(self, text: str) -> list[str]:
        return [text] * TOKENS

    def encode_queries(self, texts: list[str]) -> list[np.ndarray]:
        return [self._queries[int(text)] for text in texts]


def build_ours(folder: Path, batches: Iterable[Pages], codec: str) -> None:
    from docpruner.stores.locations import create_store
    from docpruner.stores.records import DocumentPages, DocumentRecord
    from docpruner.stores.settings import Settings

    settings = Settings.new("benchmark", DIM, SPEC, codec)
    with create_store(folder, settings) as store, store.writer() as writer:
        for batch in batches:
            documents: dict[str, list[Any]] = {}
            for place, number in enumerate(batch.numbers):
                page = stored_page(number, batch.embeddings[place], batch.reductions[place], codec)
                documents.setdefault(path_of(number), []).append(page)
            writer.commit(
                [
                    DocumentPages(
                        DocumentRecord(path, digest(path), 100_000, len(pages)), pages, True
                    )
                    for path, pages in documents.items()
                ]
            )


def digest(text: str) -> bytes:
    """In place of the hash of a file or a page."""
    return hashlib.sha256(text.encode()).digest()


def stored_page(number: int, embedding: Any, reduction: Any, codec: str) -> Any:
    from docpruner.codecs import encode
    from docpruner.stores.page_map import map_of
    from docpruner.stores.records import StoredPage

    return StoredPage(
        document=path_of(number),
        number=number % PAGES_A_DOCUMENT + 1,
        size=(595.0, 842.0),
        words_from="text layer",
        vectors=encode(reduction.vectors, codec),
        provenance=map_of(embedding, reduction),
        content_hash=digest(str(number)),
    )


def open_ours(folder: Path, queries: list[np.ndarray]) -> Search:
    from docpruner.facade import Index

    index = Index.open(folder, encoder=GivenQueries(queries))

    def search(query: int) -> list[int]:
        return [number_of(hit.document, hit.page) for hit in index.search(str(query), K)]

    return search


def number_of(path: str, page: int) -> int:
    return int(path[-9:-4]) * PAGES_A_DOCUMENT + page - 1


# ---------------------------------------------------------------------- the others


def build_qdrant(folder: Path, batches: Iterable[Pages]) -> None:
    from qdrant_client import QdrantClient
    from qdrant_client.models import (
        Distance,
        MultiVectorComparator,
        MultiVectorConfig,
        PointStruct,
        VectorParams,
    )

    client = QdrantClient(path=str(folder))
    maxsim = MultiVectorConfig(comparator=MultiVectorComparator.MAX_SIM)
    vectors = VectorParams(size=DIM, distance=Distance.DOT, multivector_config=maxsim)
    client.create_collection("pages", vectors_config=vectors)
    for batch in batches:
        points = [
            PointStruct(
                id=number,
                vector=reduction.vectors.tolist(),
                payload={"path": path_of(number), "page": number % PAGES_A_DOCUMENT + 1},
            )
            for number, reduction in zip(batch.numbers, batch.reductions, strict=True)
        ]
        client.upsert("pages", points)
    client.close()


def open_qdrant(folder: Path, queries: list[np.ndarray]) -> Search:
    from qdrant_client import QdrantClient

    client = QdrantClient(path=str(folder))

    def search(query: int) -> list[int]:
        found = client.query_points("pages", query=queries[query].tolist(), limit=K).points
        return [point.id for point in found]

    return search


def build_lance(folder: Path, batches: Iterable[Pages], dtype: str) -> None:
    import lancedb
    import pyarrow

    def tables() -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            numbers = pyarrow.array(batch.vectors.astype(dtype).reshape(-1))
            vectors = pyarrow.FixedSizeListArray.from_arrays(numbers, DIM)
            columns = {
                "id": pyarrow.array(batch.numbers),
                "path": [path_of(number) for number in batch.numbers],
                "page": [number % PAGES_A_DOCUMENT + 1 for number in batch.numbers],
                "vectors": pyarrow.ListArray.from_arrays(
                    pyarrow.array(batch.offsets, pyarrow.int32()), vectors
                ),
            }
            yield pyarrow.RecordBatch.from_pydict(columns)

    batched = tables()
    first = next(batched)
    table = lancedb.connect(folder).create_table("pages", pyarrow.Table.from_batches([first]))
    table.add(pyarrow.RecordBatchReader.from_batches(first.schema, batched))


def open_lance(folder: Path, queries: list[np.ndarray], dtype: str) -> Search:
    import lancedb

    table = lancedb.connect(folder).open_table("pages")

    def search(query: int) -> list[int]:
        vectors = queries[query].astype(dtype)
        asked = table.search(vectors, vector_column_name="vectors").distance_type("dot").limit(K)
        return [row["id"] for row in asked.select(["id", "path", "page", "_distance"]).to_list()]

    return search


SYSTEMS = {
    "docpruner int8": System("docpruner.facade", partial(build_ours, codec="int8"), open_ours),
    "docpruner float16": System(
        "docpruner.facade", partial(build_ours, codec="float16"), open_ours
    ),
    "qdrant local": System("qdrant_client", build_qdrant, open_qdrant),
    "lancedb float16": System(
        "lancedb", partial(build_lance, dtype="float16"), partial(open_lance, dtype="float16")
    ),
    "lancedb float32": System(
        "lancedb", partial(build_lance, dtype="float32"), partial(open_lance, dtype="float32")
    ),
}
BYTES_A_NUMBER = {"docpruner int8": 130 / DIM, "docpruner float16": 2}
