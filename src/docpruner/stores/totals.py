"""What an index holds, summed up from a few numbers of each page."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from docpruner.codecs import bytes_per_vector
from docpruner.stores.records import Stats
from docpruner.stores.settings import Settings
from docpruner.types import BoolArray, FloatArray

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

Counts = npt.NDArray[np.int64]  # one for each page


def summed_up(
    settings: Settings,
    vectors: Counts,
    special: Counts,
    patches: Counts,
    without_words: BoolArray | Counts,
    *,
    documents: int,
    expected_pages: int,
    bytes_on_disk: int,
    bytes_reclaimable: int = 0,
    bytes_besides: int = 0,
    bytes_empty: int = 0,
    pages_with_text: int = 0,
    bytes_of_text: int = 0,
) -> Stats:
    """`vectors` are stored, `special` of them for no patch; `patches` there were."""
    pages = len(vectors)
    kept = vectors - special
    by_page: FloatArray = (1 - kept / np.maximum(patches, 1)).astype(np.float32)
    unpruned = int((patches + special).sum())
    return Stats(
        settings=settings,
        documents=documents,
        pages=pages,
        missing_pages=expected_pages - pages,
        pages_without_words=int(without_words.sum()),
        vectors=int(vectors.sum()),
        vectors_unpruned=unpruned,
        bytes_on_disk=bytes_on_disk,
        bytes_of_vectors=int(vectors.sum()) * settings.row_bytes,
        bytes_reclaimable=bytes_reclaimable,
        bytes_unpruned_float16=unpruned * bytes_per_vector("float16", settings.dim),
        pruned=float(1 - kept.sum() / patches.sum()) if pages else 0.0,
        pruned_by_page={f"{q:g}": float(np.quantile(by_page, q)) for q in QUANTILES if pages},
        pruned_histogram=np.histogram(by_page, 10, (0, 1))[0].tolist(),
        bytes_besides=bytes_besides,
        bytes_empty=bytes_empty,
        pages_with_text=pages_with_text,
        bytes_of_text=bytes_of_text,
    )
