"""Building reductions: keep some patches, or merge groups of them. Special tokens always stay."""

from __future__ import annotations

import numpy as np

from docpruner.types import (
    SPECIAL,
    BoolArray,
    FloatArray,
    IntArray,
    PageEmbedding,
    Reduction,
    readonly,
)


def keep_patches(page: PageEmbedding, kept: BoolArray) -> Reduction:
    """The page with only the patches where `kept` (one flag for each of `page.patches`) is true."""
    stays = page.cells == SPECIAL
    stays[page.patches[kept]] = True
    rows = np.flatnonzero(stays).astype(np.int32)
    return Reduction(
        name=page.name,
        vectors=readonly(page.vectors[rows]),
        sources=readonly(rows),
        offsets=readonly(np.arange(len(rows) + 1, dtype=np.int32)),
        special=readonly(page.cells[rows] == SPECIAL),
        page_patches=len(page.patches),
    )


def merge_patches(page: PageEmbedding, labels: IntArray) -> Reduction:
    """The page with the patches of equal label replaced by their mean.

    Groups stand in the order of their first patch, whatever the labels are.
    """
    groups = np.empty(len(page.vectors), np.int64)
    patches = page.patches
    specials = np.flatnonzero(page.cells == SPECIAL)
    groups[patches] = labels
    groups[specials] = (labels.max() + 1) + np.arange(len(specials))  # each a group of its own
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    place = rank[member]  # of each row: its group, numbered by first appearance
    sources = np.argsort(place, kind="stable")
    counts = np.bincount(place)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    sums = np.add.reduceat(page.vectors[sources].astype(np.float64), offsets[:-1], axis=0)
    return Reduction(
        name=page.name,
        vectors=readonly((sums / counts[:, None]).astype(np.float32)),
        sources=readonly(sources.astype(np.int32)),
        offsets=readonly(offsets.astype(np.int32)),
        special=readonly(page.cells[sources[offsets[:-1]]] == SPECIAL),
        page_patches=len(patches),
    )


def reduced_page(page: PageEmbedding, reduction: Reduction) -> PageEmbedding:
    """What is left of `page`, as a page that another strategy can reduce further.

    A merged vector gets the mean importance of its patches, the box around them all, and the grid
    cell of the first.
    """
    starts = reduction.offsets[:-1]
    counts = np.diff(reduction.offsets)
    rows = reduction.sources

    def means(values: FloatArray) -> FloatArray:
        return (np.add.reduceat(values[rows], starts) / counts).astype(np.float32)

    low = np.minimum.reduceat(page.boxes[rows, :2], starts)
    high = np.maximum.reduceat(page.boxes[rows, 2:], starts)
    return PageEmbedding(
        name=page.name,
        vectors=reduction.vectors,
        importance=means(page.importance),
        centrality=None if page.centrality is None else means(page.centrality),
        grid=page.grid,
        cells=page.cells[rows[starts]],
        boxes=np.concatenate([low, high], axis=1),
        global_vector=page.global_vector,
        prompt=page.prompt,
    )


def compose(first: Reduction, second: Reduction) -> Reduction:
    """`second`, made from the result of `first`, with its sources traced back to the page."""
    counts = np.diff(first.offsets)[second.sources]
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    sources = first.sources[np.repeat(first.offsets[second.sources], counts) + within]
    bounds = np.concatenate([[0], ends])[second.offsets]
    return Reduction(
        name=second.name,
        vectors=second.vectors,
        sources=readonly(sources),
        offsets=readonly(bounds.astype(np.int32)),
        special=second.special,
        page_patches=first.page_patches,
    )
