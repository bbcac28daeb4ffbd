"""Of many candidates the few that are worth an exact score: by their vectors near the query alone.

Lists judge a page by its centroids, which is cheap and rough. Here the stored vectors themselves
count, but only those whose centroid was looked up for some token: one in ten or so. A token that
has none of these is taken to have the last centroid that was looked up for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from docpruner.codecs import Encoded
from docpruner.cores import on_all_cores
from docpruner.maxsim import Asked, Selection, Spans, score_spans
from docpruner.stores.first_stage.inverted_lists import Probe
from docpruner.stores.folder.first_stage_files import Block, Numbers
from docpruner.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from docpruner.stores.folder.listing import Listing

AT_ONCE = 1000  # pages to a task


def narrowed(
    listing: Listing,
    query: FloatArray,
    probe: Probe,
    chosen: Mapping[int, BoolArray],
    sure: Mapping[int, BoolArray],
    count: int,
) -> dict[int, BoolArray]:
    """Those of the chosen pages that are `sure`, and of the others so many, the best."""
    settings, wanted = listing.settings, probe.wanted
    asked = Asked.of([query], settings.codec, settings.dim)
    tasks = [
        (segment, block, part)
        for segment, mask in chosen.items()
        for block, places in _in_blocks(listing, segment, mask & ~sure[segment])
        for part in np.array_split(places, -(-len(places) // AT_ONCE))
    ]

    def score(task: tuple[int, Block, Numbers]) -> FloatArray:
        segment, block, places = task
        rows = listing.segments[segment].rows[block.first : block.last]
        corpus = Encoded(settings.codec, settings.dim, rows)
        only = Selection(block.codes[: len(rows)], wanted, probe.floors)
        spans = _spans(listing, segment, places) - block.first
        scores: FloatArray = score_spans(asked, corpus, spans, only=only, threads=1)[0]
        return scores

    picked = {segment: mask & sure[segment] for segment, mask in chosen.items()}
    if not tasks:
        return picked
    scores = on_all_cores(score, tasks)
    together = np.concatenate(scores)
    least = np.partition(together, -count)[-count] if len(together) > count else -np.inf
    for (segment, _, places), values in zip(tasks, scores, strict=True):
        picked[segment][places[values >= least]] = True
    return picked


def _in_blocks(listing: Listing, segment: int, mask: BoolArray) -> list[tuple[Block, Numbers]]:
    """The places of pages, by the block that they are in."""
    blocks = listing.segments[segment].blocks
    places = np.flatnonzero(mask)
    edges = np.searchsorted(places, np.cumsum([0, *map(len, blocks)]))
    parts = [places[first:last] for first, last in pairwise(edges.tolist())]
    return [(block, part) for block, part in zip(blocks, parts, strict=True) if len(part)]


def _spans(listing: Listing, segment: int, places: Numbers) -> Spans:
    pages = listing.segments[segment]
    starts = pages.start[places]
    return np.stack([starts, starts + pages.vectors[places]], axis=1)
