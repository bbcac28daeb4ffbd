"""The first stage of an index as it is read: which pages are worth an exact score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from docpruner.cores import on_all_cores
from docpruner.errors import DamagedIndexError
from docpruner.stores.first_stage.centroids import Centroids
from docpruner.stores.first_stage.inverted_lists import Gains, Probe
from docpruner.stores.folder.first_stage_files import (
    Block,
    Stamp,
    generations,
    read_blocks,
    read_centroids,
    read_tuning,
    stamps_of,
)
from docpruner.stores.folder.narrowing import narrowed
from docpruner.stores.records import FirstStageState, Tuning
from docpruner.types import BoolArray, FloatArray

if TYPE_CHECKING:
    from docpruner.stores.folder.listing import Listing

LEAST_CANDIDATES, CANDIDATE_OF = 4000, 50  # one page in so many, unless the index was tuned
RANKED_OF, LEAST_RANKED = 5, 200  # one candidate in so many is ranked, so many at least
USUAL = 10  # hits, for which candidates are counted
SURE = np.uint16(0xFFFF)  # what a page gains that no list knows: it is always ranked


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A training with its lists, as the files were at one moment."""

    place: Path
    files: frozenset[Stamp]
    centroids: Centroids
    blocks: Mapping[int, tuple[Block, ...]]
    tuning: Tuning | None

    @property
    def candidates(self) -> int:
        """Pages that are looked at for a few hits."""
        if self.tuning is not None:
            return self.tuning.candidates
        pages = sum(len(block) for some in self.blocks.values() for block in some)
        return max(LEAST_CANDIDATES, pages // CANDIDATE_OF)

    def helps(
        self, listing: Listing, chosen: Mapping[int, BoolArray], k: int, candidates: int | None
    ) -> bool:
        """Whether there are more pages than it would choose anyway, and it knows most of them."""
        pages = sum(int(mask.sum()) for mask in chosen.values())
        return pages > self._wanted(k, candidates) + listing.pages_outside

    def _wanted(self, k: int, candidates: int | None) -> int:
        """Who asks for more than a few hits needs more to choose from."""
        usual = self.candidates if candidates is None else candidates
        return max(usual, usual * k // USUAL)

    def state(self, listing: Listing) -> FirstStageState:
        return FirstStageState(
            centroids=len(self.centroids),
            pages=len(listing) - listing.pages_outside,
            pages_outside=listing.pages_outside,
            bytes_on_disk=sum(path.stat().st_size for path in self.place.iterdir()),
            error=self.error,
            error_when_trained=self.centroids.error,
            candidates=self.candidates,
            tuning=self.tuning,
        )

    @property
    def error(self) -> float:
        """Of the vectors in the lists, which may be others than those it was trained on."""
        blocks = [block for some in self.blocks.values() for block in some]
        weights = [block.last - block.first for block in blocks]
        errors = [block.error for block in blocks]
        return float(np.average(errors, weights=weights)) if blocks else self.centroids.error

    def choose(
        self,
        listing: Listing,
        query: FloatArray,
        chosen: Mapping[int, BoolArray],
        k: int,
        candidates: int | None,
    ) -> dict[int, BoolArray]:
        """The pages to score exactly, and all that are in no list.

        Those that gain most by their centroids are looked at, and of these the ones that are best
        by their vectors near the query are taken.
        """
        looked_at = self._wanted(k, candidates)
        probe = Probe.of(query, self.centroids)
        gains = self._gains(listing, probe, chosen)
        sure = {segment: values == SURE for segment, values in gains.items()}
        picked = _best(gains, chosen, looked_at + listing.pages_outside)
        ranked = max(LEAST_RANKED, looked_at // RANKED_OF, 2 * k)
        return narrowed(listing, query, probe, picked, sure, ranked)

    def _gains(
        self, listing: Listing, probe: Probe, chosen: Mapping[int, BoolArray]
    ) -> dict[int, Gains]:
        tasks = [
            (segment, block)
            for segment, mask in chosen.items()
            for block in listing.segments[segment].blocks
            if mask.any()
        ]
        gains = {s: np.full(len(mask), SURE, np.uint16) for s, mask in chosen.items()}

        def gain(task: tuple[int, Block]) -> Gains:
            _, block = task
            try:
                return block.lists.gains(probe)
            except DamagedIndexError:
                return np.full(len(block), SURE, np.uint16)  # so they are all ranked

        places = dict.fromkeys(chosen, 0)
        for (segment, block), values in zip(tasks, on_all_cores(gain, tasks), strict=True):
            at = places[segment]
            gains[segment][at : at + len(block)] = values
            places[segment] = at + len(block)
        return gains


def _best(
    gains: Mapping[int, Gains], chosen: Mapping[int, BoolArray], wanted: int
) -> dict[int, BoolArray]:
    """So many of the chosen pages, those that gain most; all that are sure."""
    counts = np.zeros(1 << 16, np.int64)
    for segment, mask in chosen.items():
        counts += np.bincount(gains[segment][mask], minlength=1 << 16)
    at_least = np.cumsum(counts[::-1])[::-1]  # of pages that gain so much or more
    least = int(np.searchsorted(-at_least, -wanted, side="right")) - 1
    left = wanted - (int(at_least[least + 1]) if least < SURE else 0)
    picked = {}
    for segment, mask in chosen.items():
        picked[segment] = mask & (gains[segment] > least)
        equals = np.flatnonzero(mask & (gains[segment] == least))
        if least == SURE:
            left = len(equals)
        picked[segment][equals[:left]] = True
        left -= min(left, len(equals))
    return picked


def read_first_stage(folder: Path, before: FirstStage | None = None) -> FirstStage | None:
    """What there is; taken from `before` as far as it is the same. None if it can't be used."""
    trained = generations(folder)
    if not trained:
        return None
    place = trained[-1]
    try:
        files = stamps_of(place)
        if before is not None and before.place == place:
            if before.files == files:
                return before
            centroids = before.centroids
            known = {block.stamp: block for some in before.blocks.values() for block in some}
        else:
            centroids = read_centroids(place)
            known = {}
        blocks = read_blocks(place, len(centroids), known)
        tuning = read_tuning(place)
    except (OSError, DamagedIndexError, ValueError, KeyError, TypeError):
        return None
    read = {segment: tuple(some) for segment, some in blocks.items()}
    return FirstStage(place, files, centroids, read, tuning)
