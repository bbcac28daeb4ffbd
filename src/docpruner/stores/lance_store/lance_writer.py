"""Changes of an index. Nobody is kept out: a change that others have overtaken is made again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from docpruner.errors import DamagedIndexError, IndexBusyError, IndexStateError
from docpruner.stores.contract import Progress
from docpruner.stores.lance_store.lance_draft import Draft, version_of
from docpruner.stores.lance_store.lance_errors import ConflictError
from docpruner.stores.lance_store.lance_listing import FragmentRows, Listing
from docpruner.stores.lance_store.lance_rows import (
    STORED,
    document_table,
    page_checksum,
    page_table,
    settings_table,
    stored_page,
)
from docpruner.stores.lance_store.lance_table import FRAGMENT_BYTES, LanceTable
from docpruner.stores.records import DocumentPages, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Metadata

if TYPE_CHECKING:
    from docpruner.stores.lance_store.lance_store import LanceStore

TRIES = 20  # at least, however short the time to wait
PAUSE = 0.02  # seconds before the second try, at most; each time twice as long, up to a second

Change = Callable[[Listing], Draft]


class LanceWriter:
    def __init__(self, store: LanceStore, wait: float) -> None:
        self._store, self._wait = store, wait
        self.settings = store.listing().settings

    # ------------------------------------------------------------------ documents

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        ids: dict[
            tuple[str, bytes], int
        ] = {}  # the same in every try, so that files are used again

        def change(listing: Listing) -> Draft:
            draft = Draft(listing)
            for part in batch:
                self._take(draft, part, ids)
            return draft

        self._made(change)
        self._store.keep_up()

    def _take(self, draft: Draft, part: DocumentPages, ids: dict[tuple[str, bytes], int]) -> None:
        row = version_of(draft, part.document, ids)
        draft.change(row)
        for page in part.pages:
            if page.vectors.codec != self.settings.codec:
                raise IndexStateError(
                    f"{page.name} comes in {page.vectors.codec}, the index has "
                    f"{self.settings.codec}"
                )
            draft.pages[row.id, page.number] = page
        if part.finished:
            for other in draft.versions(row.name):
                if other.id != row.id:
                    draft.drop(other.id)
            draft.change(replace(row, incoming=False))

    def delete(self, documents: Iterable[str]) -> None:
        names = list(documents)

        def change(listing: Listing) -> Draft:
            draft = Draft(listing)
            for name in names:
                for row in draft.versions(name):
                    draft.drop(row.id)
            return draft

        self._made(change)

    def rename(self, names: Mapping[str, str]) -> None:
        def change(listing: Listing) -> Draft:
            draft = Draft(listing)
            for old, new in names.items():
                for row in listing.by_name.get(old, ()):
                    draft.change(replace(row, name=new))
            return draft

        self._made(change)

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        def change(listing: Listing) -> Draft:
            draft = Draft(listing)
            for name, values in metadata.items():
                for row in listing.by_name.get(name, ()):
                    draft.change(replace(row, metadata=dict(values)))
            return draft

        self._made(change)

    def isolate(self, pages: Collection[tuple[int, int]], documents: Collection[int]) -> None:
        """Take out pages, by the numbers of their documents and their own, and whole documents.

        Of the pages that documents then lack, the next run encodes those again. A version that was
        on its way in may be the only one left.
        """

        def change(listing: Listing) -> Draft:
            draft = Draft(listing)
            names = zip(listing.document.tolist(), listing.number.tolist(), strict=True)
            draft.places = {place for place, name in enumerate(names) if name in pages}
            for document in documents:
                draft.drop(document)
            for name in listing.by_name:
                left = draft.versions(name)
                if left and left[0].incoming:
                    draft.change(replace(left[0], incoming=False))
            return draft

        self._made(change)

    # ------------------------------------------------------------------ all of the index

    def set_budget(self, budget: str) -> None:
        def attempt(listing: Listing) -> LanceTable:
            settings = replace(listing.settings, budget=budget)
            new = listing.table.write(settings_table(settings))
            return listing.table.commit(listing.head, new, {}, [listing.head.id])

        self._retried(attempt)

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        """What others add meanwhile is changed too, before all of it is committed at once."""
        done: dict[Any, list[Any]] = {}  # the new fragments of each old one
        pages = 0

        def counted(page: StoredPage) -> StoredPage:
            nonlocal pages
            new = change(page)
            pages += 1
            if progress is not None:
                progress(pages, max(pages, total))
            return new

        total = 0

        def attempt(listing: Listing) -> LanceTable:
            nonlocal total
            self._check_settings(listing)
            total = len(listing.document)
            for rows in listing.of_pages:
                if rows.fragment not in done:
                    done[rows.fragment] = _rewritten(listing, rows, counted)
            new = [each for rows in listing.of_pages for each in done[rows.fragment]]
            new += listing.table.write(settings_table(settings))
            old = [rows.fragment.id for rows in listing.of_pages]
            return listing.table.commit(listing.head, new, {}, [*old, listing.head.id])

        self._retried(attempt)

    # ------------------------------------------------------------------ commits

    def _made(self, change: Change) -> None:
        """One commit of what a change makes of the latest state."""
        written: dict[Any, list[Any]] = {}

        def attempt(listing: Listing) -> LanceTable | None:
            self._check_settings(listing)
            draft = change(listing)
            documents, pages = tuple(draft.changed.values()), draft.pages
            deleted = draft.deletions()
            if not (documents or pages or deleted):
                return None
            new: list[Any] = []
            if pages:
                key = tuple(pages)
                if key not in written:
                    several = ((document, page) for (document, _), page in pages.items())
                    written[key] = listing.table.write(page_table(several))
                new += written[key]
            if documents:
                new += listing.table.write(document_table(documents))
            return listing.table.commit(listing.head, new, deleted, ())

        self._retried(attempt)

    def _retried(self, attempt: Callable[[Listing], LanceTable | None]) -> None:
        end, tries = time.monotonic() + self._wait, 0
        while True:
            listing = self._store.listing()
            try:
                made = attempt(listing)
            except ConflictError:
                tries += 1
                if tries >= TRIES and time.monotonic() > end:
                    raise IndexBusyError(self._store.location, self._wait) from None
                time.sleep(random.uniform(0, min(1.0, PAUSE * 2**tries)))
            else:
                if made is not None:
                    self.settings = self._store.moved_on(made).settings
                return

    def _check_settings(self, listing: Listing) -> None:
        """Pages are made by the settings that a writer began with, all but the budget."""
        own, now = self.settings, listing.settings
        if replace(now, budget=own.budget) != own:
            raise IndexStateError(
                f"{self._store.location} was given {now.spec} in {now.codec} by another process "
                f"while this one was writing pages of {own.spec} in {own.codec}; run again"
            )


def _rewritten(
    listing: Listing, rows: FragmentRows, change: Callable[[StoredPage], StoredPage]
) -> list[Any]:
    """The pages of a fragment, changed, in fragments that are not committed yet."""
    new: list[Any] = []
    waiting: list[tuple[int, StoredPage]] = []
    size = 0
    for batch in listing.table.scan(STORED, [rows.fragment]):
        for row in batch.to_pylist():
            document = listing.by_id.get(row["document"])
            if document is None or page_checksum(row) != row["checksum"]:
                location = listing.table.location
                name = "a page" if document is None else f"{document.name}#{row['number']}"
                raise DamagedIndexError(f"{name} is damaged; run: docpruner verify {location}")
            page = change(stored_page(row, document.name, listing.settings))
            waiting.append((row["document"], page))
            size += page.vectors.nbytes
            if size > FRAGMENT_BYTES:
                new += listing.table.write(page_table(waiting))
                waiting, size = [], 0
    return new + (listing.table.write(page_table(waiting)) if waiting else [])
