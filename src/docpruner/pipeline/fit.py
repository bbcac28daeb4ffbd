"""Keeping an index to a budget: now, and while pages are added."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from docpruner.errors import IndexBusyError
from docpruner.pipeline.budget import Budget, Choice, PageCounts, choices, choose
from docpruner.pipeline.prune import Pruned, Stricter
from docpruner.reduce import reducer
from docpruner.reduce.threshold import unwarned
from docpruner.stores.contract import WAIT, Compactable, Progress, Store, Writer
from docpruner.stores.records import Stats, StoredPage
from docpruner.stores.settings import Settings


def listed_choices(store: Store, budget: Budget | None = None) -> list[Choice]:
    """All that an index can still be given, itself first; the first that fits is taken."""
    with store.reader() as reader:
        return list(choices(reader.stats(), PageCounts(reader), budget))


def prune_to(
    store: Store,
    budget: Budget,
    *,
    dry_run: bool = False,
    wait: float = WAIT,
    progress: Progress | None = None,
) -> Pruned:
    """Give an index the mildest setting that fits, and have it keep to the budget from now on.

    All pages are changed or none. Then it is compacted, as a budget is about the disk.
    """
    if dry_run:
        stats, choice = _chosen(store, budget)
        return _outcome(stats, choice)
    with store.writer(wait) as writer:
        stats, choice = _chosen(store, budget)
        rewrite(writer, choice, str(budget), progress)
    compact_to(store, budget, wait)
    return _outcome(stats, choice)


def _chosen(store: Store, budget: Budget) -> tuple[Stats, Choice]:
    with store.reader() as reader:
        stats = reader.stats()
        return stats, choose(stats, PageCounts(reader), budget)


def _outcome(stats: Stats, choice: Choice) -> Pruned:
    return Pruned(stats.vectors, choice.vectors, stats.bytes_of_vectors, choice.bytes_of_vectors)


def rewrite(writer: Writer, choice: Choice, budget: str, progress: Progress | None = None) -> None:
    """The whole index in another setting, in one transaction; nothing if it has it already."""
    own = writer.settings
    if (choice.spec, choice.codec) == (own.spec, own.codec):
        if budget != own.budget:
            writer.set_budget(budget)
        return
    settings = replace(own, spec=choice.spec, codec=choice.codec, budget=budget)
    with unwarned():
        writer.rewrite(_change(own, choice), settings, progress)


def _change(own: Settings, choice: Choice) -> Callable[[StoredPage], StoredPage]:
    return Stricter(own, reducer(choice.spec), choice.codec)


def compact_to(store: Store, budget: Budget, wait: float = WAIT) -> None:
    """Give back room that nothing uses, if it is what exceeds the budget."""
    with store.reader() as reader:
        stats = reader.stats()
    if stats.bytes_on_disk > budget.allows(stats) and isinstance(store, Compactable):
        store.compact(wait=wait)


class BudgetKeeper:
    """Watches an index grow, and gives it the next setting that fits when it passes its budget.

    A budget for each page is looked at in the end only: the first pages say little of the rest.
    """

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store, self._writer = store, writer
        self._began = writer.settings
        self._budget = Budget.read(self._began.budget) if self._began.budget else None
        self._change: Callable[[StoredPage], StoredPage] | None = None
        self._unseen, self._room = 0, 0
        self.narrowed: list[Choice] = []

    def fitted(self, page: StoredPage) -> StoredPage:
        """A page that was made by the settings at the beginning, as the index has its pages now.

        One that has them already, as a copy may, stays as it is.
        """
        if self._change is None:
            return page
        with unwarned():
            return self._change(page)

    def committed(self, size: int) -> None:
        """So many bytes of vectors have come; counts only when they may have filled the room."""
        if self._budget is None or self._budget.per_page:
            return
        self._unseen += size
        if 2 * self._unseen >= self._room:  # what else a page takes comes on top
            self.check()

    def check(self) -> None:
        if self._budget is None:
            return
        stats, choice = _chosen(self._store, self._budget)
        own = self._writer.settings
        if (choice.spec, choice.codec) != (own.spec, own.codec):
            rewrite(self._writer, choice, own.budget)
            self._change = _change(self._began, choice)
            self.narrowed.append(choice)
        self._unseen, self._room = 0, self._budget.allows(stats) - choice.bytes

    def compact(self, wait: float) -> None:
        """When nobody writes any more; if somebody does, the next to add will."""
        if self._budget is not None:
            with suppress(IndexBusyError):
                compact_to(self._store, self._budget, wait)
