"""What a run of indexing did, and what it says while it does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from docpruner.errors import PageError
from docpruner.pipeline.budget import Choice

DocumentStatus = Literal["added", "replaced", "completed", "moved", "unchanged"]
Outcome = Literal["all", "some", "none"]


@dataclass
class AddReport:
    """What a run has done so far. Pages count when they are committed, not before."""

    documents: Counter[DocumentStatus] = field(default_factory=Counter)
    pages: int = 0  # committed by this run
    copied: int = 0  # of those, taken over from a page that looks the same
    without_words: int = 0  # of those, pages that an encoder of words can't find
    odd_thresholds: int = 0  # of those, pages of which the threshold kept all or one patch
    vectors: int = 0
    vectors_unpruned: int = 0
    bytes: int = 0  # of the vectors
    bytes_unpruned_float16: int = 0
    metadata_changed: int = 0  # documents that were there and have other metadata now
    missing: list[str] = field(default_factory=list)  # documents whose files no longer exist
    deleted: list[str] = field(default_factory=list)  # of those, the ones taken out
    narrowed: list[Choice] = field(default_factory=list)  # given to all pages, to keep to a budget
    problems: list[PageError] = field(default_factory=list)
    seconds: float = 0.0
    share: float = 0.0  # of all bytes of the files, 0..1

    @property
    def outcome(self) -> Outcome:
        """Whether all, some or none of the files and pages are in."""
        if not self.problems:
            return "all"
        return "some" if self.pages or self.documents.total() else "none"

    @property
    def kept(self) -> float:
        """Share of the vectors that are stored, 0..1."""
        return self.vectors / self.vectors_unpruned if self.vectors_unpruned else 1.0

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.seconds if self.seconds else 0.0


ProgressCallback = Callable[[AddReport], None]
"""Given the report so far, whenever something was committed or has failed."""
