"""A data set encoded once, for any number of settings: an index that holds every vector.

It lies in a cache, under a name made from the encoder, the pages and the version of the format, and
is filled like any index: what is there is not encoded again, and a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docpruner.encoders.registry import Encoder, EncoderName
from docpruner.evaluate.data import DataSet
from docpruner.index.catalogue import NAME
from docpruner.index.records import StoredPage
from docpruner.index.settings import Settings
from docpruner.index.store import PageStore
from docpruner.pipeline.add import Watch
from docpruner.types import FloatArray, PageEmbedding

FORMAT = 1  # of what is cached; another number forgets the old


@dataclass(frozen=True, eq=False)
class EncodedData:
    """The vectors of a data set: the pages' on disk, the queries' in memory."""

    data: DataSet
    encoder: str
    folder: Path  # of an index with every vector, in float16
    rows: tuple[int, ...]  # ids in that index
    page_ids: tuple[str, ...]  # of those rows, as the answers name them
    queries: tuple[FloatArray, ...]  # of the judged queries, in their order


def default_cache() -> Path:
    """Where other tools of the user keep what can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "docpruner" / "evaluate"


def encode_data(
    data: DataSet,
    encoder: Encoder,
    *,
    cache: Path | None = None,
    ocr: bool = False,
    watch: Watch | None = None,
) -> EncodedData:
    """Encode what the cache lacks of a data set; `watch` sees how far it is."""
    key = {
        "format": FORMAT,
        "encoder": encoder.name,
        "pages": data.source.fingerprint(),
        "ocr": ocr and encoder.pixels is None,
    }
    name = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=8).hexdigest()
    folder = (cache or default_cache()) / f"{data.name}-{name}"
    with _store(folder, encoder) as store:
        data.source.fill(store, encoder, ocr=bool(key["ocr"]), watch=watch)
        snapshot = store.snapshot()
        names = {entry.id: entry.path for entry in snapshot.documents.values()}
        page_ids = [
            data.source.page_id(names[document], number)
            for document, number in zip(
                snapshot.document.tolist(), snapshot.number.tolist(), strict=True
            )
        ]
    vectors = _encoded_queries([query.text for query in data.judged], encoder, folder)
    rows = tuple(snapshot.ids.tolist())
    return EncodedData(data, encoder.name, folder, rows, tuple(page_ids), tuple(vectors))


def as_encoded(page: StoredPage, encoder: str) -> PageEmbedding:
    """A stored page of which nothing was pruned, as the encoder of that name gave it."""
    found = page.map
    importance = found.importance
    assert importance is not None  # such indexes are made with them
    return PageEmbedding(
        f"{Path(page.document).name}#{page.number}",  # as when it is indexed
        page.vectors.decode(),
        importance,
        found.grid,
        found.cells,
        found.boxes,
        found.global_vector,
        EncoderName.read(encoder).prompt,
    )


def _store(folder: Path, encoder: Encoder) -> PageStore:
    if (folder / NAME).exists():
        return PageStore(folder)
    settings = Settings.new(encoder.name, encoder.dim, "none", "float16")
    return PageStore.create(folder, settings)


def _encoded_queries(texts: Sequence[str], encoder: Encoder, folder: Path) -> list[FloatArray]:
    name = hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
    path = folder.with_name(f"{folder.name}-queries-{name}.npz")
    if not path.exists():
        vectors = encoder.encode_queries(texts)
        draft = path.with_name(f"{path.stem}.new.npz")
        counts = np.array([len(query) for query in vectors])
        np.savez(draft, vectors=np.concatenate(vectors), counts=counts)
        draft.replace(path)
    with np.load(path) as stored:
        return np.split(stored["vectors"], np.cumsum(stored["counts"])[:-1])
