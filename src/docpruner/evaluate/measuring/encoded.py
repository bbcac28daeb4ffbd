"""A data set encoded once, for any number of settings: an index that holds every vector.

It lies in a cache, one for each data set, encoder and use of OCR, and is brought up to date like
any index: what is there is not encoded again, and a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from docpruner.codecs import CodecName
from docpruner.encoders.registry import Encoder, EncoderName
from docpruner.errors import DataError
from docpruner.evaluate.data.data_sets import DataSet
from docpruner.evaluate.measuring.query_cache import encoded_queries
from docpruner.pages.ocr import recogniser, uses_ocr
from docpruner.pipeline.add import add_documents
from docpruner.pipeline.add_report import ProgressCallback
from docpruner.stores.contract import Compactable, Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.records import PageName, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray, Ocr, PageEmbedding

FORMAT = 6  # of what is cached; another number leaves the old alone
CODEC: CodecName = "float32"  # as encoded: a setting is rounded by its own codec and no other


@dataclass(frozen=True, eq=False)
class EncodedData:
    """The vectors of a data set: the pages' in an index, the queries' in memory."""

    data: DataSet
    encoder: str
    location: str  # of an index with every vector
    pages: tuple[PageName, ...]
    queries: tuple[FloatArray, ...]  # of the judged queries, in their order
    filtered: EncodedData | None = None  # the same under the noise-filtering prompt
    notes: tuple[str, ...] = ()  # what is to be told beside the results

    @property
    def page_ids(self) -> list[str]:
        """Of the pages, as answers name them."""
        return [self.data.pages.page_id(page) for page in self.pages]

    def some_pages(self, count: int) -> list[PageName]:
        """So many, evenly spread; all if there are no more."""
        last = len(self.pages) - 1
        places = np.linspace(0, last, min(count, last + 1)).astype(int)
        return [self.pages[place] for place in places]

    def noted(self, *notes: str) -> EncodedData:
        return replace(self, notes=(*self.notes, *notes))

    def embeddings(self, pages: Sequence[PageName]) -> Iterator[PageEmbedding]:
        """Pages as the encoder gave them."""
        return embeddings(self.location, self.encoder, pages)


def default_cache() -> Path:
    """Where other tools of the user keep what can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "docpruner" / "evaluate"


def encode_data(
    data: DataSet,
    encoder: Encoder,
    *,
    cache: Path | None = None,
    ocr: Ocr | None = None,
    progress: ProgressCallback | None = None,
) -> EncodedData:
    """Encode what the cache lacks of a data set.

    `ocr` recognises the words of pages without any, for an encoder that reads words; None where it
    is installed.
    """
    data.require_answers()
    ocr = encoder.reads == "words" and uses_ocr(ocr, reads_words=True)
    place = (cache or default_cache()) / _name(data, encoder, ocr=ocr)
    with _store(str(place), encoder) as store:
        source = data.pages.source(pixels=encoder.pixels, ocr=ocr)
        report = add_documents(store, source, encoder, delete_missing=True, progress=progress)
        if (report.deleted or report.documents["replaced"]) and isinstance(store, Compactable):
            store.compact()
        pages = _current_pages(store, data)
    if not pages:
        problem = f"; {report.problems[0]}" if report.problems else ""
        raise DataError(f"{data.name}: no page can be read{problem}")
    texts = [query.text for query in data.judged]
    queries = encoded_queries(texts, encoder, place.with_name(f"{place.name}-queries.npz"))
    return EncodedData(data, encoder.name, store.location, tuple(pages), tuple(queries))


def _current_pages(store: Store, data: DataSet) -> list[PageName]:
    """The pages of documents as they are now.

    A document of which no page can be read any more is there as it was before.
    """
    with store.reader() as reader:
        current = {
            entry.name
            for entry in reader.documents()
            if entry.content_hash == data.pages.content_hash(entry.name)
        }
        return sorted(page for page in reader.pages() if page.document in current)


def embeddings(location: str, encoder: str, pages: Sequence[PageName]) -> Iterator[PageEmbedding]:
    """Pages of an index in which nothing was pruned, as the encoder of that name gave them."""
    with open_store(location) as store, store.reader() as reader:
        for page in pages:
            stored = reader.page(*page)
            if stored is None:
                raise DataError(
                    f"{page.document}#{page.number} is no longer in {location}: another "
                    "evaluation has changed it meanwhile; run this one again"
                )
            yield _as_encoded(stored, encoder)


def _as_encoded(page: StoredPage, encoder: str) -> PageEmbedding:
    origin = page.provenance
    importance = origin.importance
    assert importance is not None  # such indexes are made with them
    return PageEmbedding(
        page.name,  # as when it is indexed
        page.vectors.decode(),
        importance,
        origin.grid,
        origin.cells,
        origin.boxes,
        origin.global_vector,
        EncoderName.read(encoder).prompt,
        origin.centrality,
    )


def _name(data: DataSet, encoder: Encoder, *, ocr: Ocr) -> str:
    words = recogniser(ocr) if ocr else False
    key = {"format": FORMAT, "encoder": encoder.name, "pages": data.pages.key, "ocr": words}
    text = json.dumps(key, sort_keys=True)
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return f"{data.name.replace('/', '_')}-{digest}"


def _store(location: str, encoder: Encoder) -> Store:
    if store_exists(location):
        return open_store(location)
    return create_store(location, Settings.new(encoder.name, encoder.dim, "none", CODEC))
