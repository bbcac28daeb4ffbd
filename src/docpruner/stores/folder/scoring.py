"""Exact scores of pages that lie in several segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from docpruner.codecs import Encoded
from docpruner.cores import on_all_cores, usable_cores
from docpruner.maxsim import Asked, Spans, score_spans
from docpruner.stores.folder.listing import Listing
from docpruner.types import BoolArray, FloatArray

SHARES = 4  # of the work for each core, so that none waits long for another
LEAST = 20_000  # vectors that are worth a thread's while


def scores_of(
    listing: Listing, queries: Sequence[FloatArray], chosen: Mapping[int, BoolArray]
) -> FloatArray:
    """Of every query against the chosen pages, segment after segment, (queries, pages)."""
    spans = {segment: _spans(listing, segment, mask) for segment, mask in chosen.items()}
    vectors = sum(int((each[:, 1] - each[:, 0]).sum()) for each in spans.values())
    share = max(LEAST, vectors // (usable_cores() * SHARES))
    tasks = [(s, part) for s, each in spans.items() for part in _parts(each, share)]
    settings = listing.settings
    corpora = {
        s: Encoded(settings.codec, settings.dim, listing.segments[s].rows)
        for s, each in spans.items()
        if len(each)
    }
    if not corpora:
        return np.empty((len(queries), 0), np.float32)
    asked = Asked.of(queries, settings.codec, settings.dim)

    def score(task: tuple[int, Spans]) -> FloatArray:
        segment, part = task
        return score_spans(asked, corpora[segment], part, threads=1)

    scores = on_all_cores(score, tasks) if len(tasks) > 1 else list(map(score, tasks))
    return np.concatenate(scores, axis=1)


def _spans(listing: Listing, segment: int, mask: BoolArray) -> Spans:
    pages = listing.segments[segment]
    starts = pages.start[mask]
    return np.stack([starts, starts + pages.vectors[mask]], axis=1)


def _parts(spans: Spans, vectors: int) -> Iterator[Spans]:
    """The spans in parts of about so many vectors."""
    if len(spans):
        ends = np.cumsum(spans[:, 1] - spans[:, 0])
        cuts = np.searchsorted(ends, np.arange(vectors, ends[-1], vectors), side="left") + 1
        yield from (part for part in np.split(spans, np.unique(cuts)) if len(part))
