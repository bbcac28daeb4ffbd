"""The one writer of an index in Qdrant: what it writes holds from the moment the head says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from docpruner.errors import DocPrunerError
from docpruner.stores.contract import Progress
from docpruner.stores.qdrant.history import (
    DOCUMENTS,
    FAR,
    GRACE,
    HEAD,
    PAGES,
    alive,
    purge,
    read_head,
    settings_text,
    undo_after,
)
from docpruner.stores.qdrant.lease import Right, lost
from docpruner.stores.qdrant.page_point import checked, page_key, page_point
from docpruner.stores.qdrant.points import Among, Between, Engine, Point, Where
from docpruner.stores.qdrant.qdrant_reader import QdrantReader
from docpruner.stores.qdrant.version_listing import Listing, list_versions
from docpruner.stores.qdrant.version_plan import Plan
from docpruner.stores.records import DocumentPages, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import Metadata

NUMBERS_AT_ONCE = 250_000  # of vectors in a request: some 5 MB of JSON, where a server takes 32


class QdrantWriter:
    """Made by `QdrantStore.writer`, which has the right to write."""

    def __init__(self, engine: Engine, location: str, right: Right, known: Listing | None) -> None:
        self._engine, self._location, self._right = engine, location, right
        self._head = head = right.head
        undo_after(engine, head.commit)
        purge(engine, head, before=time.time() - GRACE)
        self._listing = list_versions(engine, head, known)

    @property
    def settings(self) -> Settings:
        return self._head.settings

    def commit(self, batch: Sequence[DocumentPages]) -> None:
        plan = self._plan()
        for part in batch:
            plan.store(part)
        self._apply(plan)

    def delete(self, documents: Iterable[str]) -> None:
        plan = self._plan()
        plan.delete(documents)
        self._apply(plan)

    def rename(self, names: Mapping[str, str]) -> None:
        plan = self._plan()
        plan.rename(names)
        self._apply(plan)

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        plan = self._plan()
        plan.set_metadata(metadata)
        self._apply(plan)

    def set_budget(self, budget: str) -> None:
        with self._next_commit(self._plan(), replace(self.settings, budget=budget)):
            pass

    def rewrite(
        self,
        change: Callable[[StoredPage], StoredPage],
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        reader = QdrantReader(self._engine, self._head, self._listing)
        after = replace(self._head, settings=settings)
        total = reader.count()

        def rewritten(commit: int) -> Iterator[Point]:
            for done, (version, page) in enumerate(reader.stored_pages(), 1):
                new = checked(change(page), settings.dim, self._location)
                shown = not version.incoming
                yield page_point(new, version.number, after, commit, shown=shown)
                if progress is not None:
                    progress(done, total)

        with self._next_commit(self._plan(), settings) as commit:
            self._upsert(rewritten(commit))
            self._end(PAGES, commit)

    def compact(self) -> None:
        """Remove what holds no more, and pages of no document."""
        purge(self._engine, self._head)
        known = sorted(self._listing.versions)
        self._engine.remove(PAGES + ((Among("version", known, excluded=True),) if known else ()))

    # ------------------------------------------------------------------ commits

    def _plan(self) -> Plan:
        return Plan(self._listing, self._head.versions)

    def _apply(self, plan: Plan) -> None:
        for page in plan.pages.values():
            checked(page, self.settings.dim, self._location)
        with self._next_commit(plan) as commit:
            after = plan.after
            self._upsert(
                page_point(page, number, self._head, commit, shown=not after[number].incoming)
                for (number, _), page in plan.pages.items()
                if number in after
            )
            if plan.replaced:
                keys = [page_key(*page) for page in plan.replaced]
                self._end((Among("page", keys),), commit)
            if plan.gone:
                self._end((Among("version", plan.gone),), commit)
            changed = plan.changed
            if changed:
                numbers = [version.number for version in changed]
                self._end((*DOCUMENTS, Among("version", numbers)), commit)
                self._upsert(version.point(commit) for version in changed)
            if plan.shown:
                coming = (Among("version", sorted(plan.shown)), Between("shown", low=FAR))
                self._engine.put(PAGES + coming, {"shown": commit})

    def _end(self, where: Where, commit: int) -> None:
        """Points that held until now hold no more."""
        self._right.check()
        ended = {"died": commit, "died_at": int(time.time())}
        self._engine.put(where + alive(commit - 1), ended)

    def _upsert(self, points: Iterable[Point]) -> None:
        some: list[Point] = []
        numbers = 0
        for point in points:
            size = 200 if point.vectors is None else point.vectors.size
            if some and numbers + size > NUMBERS_AT_ONCE:
                self._send(some)
                some, numbers = [], 0
            some.append(point)
            numbers += size
        if some:
            self._send(some)

    def _send(self, points: Sequence[Point]) -> None:
        self._right.check()
        self._engine.upsert(points)

    @contextmanager
    def _next_commit(self, plan: Plan, settings: Settings | None = None) -> Iterator[int]:
        """Everything that is written inside, or nothing."""
        commit = self._head.commit + 1
        try:
            yield commit
            self._advance(commit, plan.versions, settings or self.settings)
        except BaseException:
            with suppress(DocPrunerError):  # then the next writer will
                self._go_on_from_head()
            raise
        self._listing = plan.listing(commit)

    def _advance(self, commit: int, versions: int, settings: Settings) -> None:
        """One operation, by which all of a commit is there. It has a condition: somebody who has
        taken over has another name in the head, or is further."""
        mine: Where = (Among("owner", [self._head.owner]), Among("commit", [commit - 1]))
        payload = {"commit": commit, "versions": versions, "settings": settings_text(settings)}
        self._engine.put(HEAD + mine, payload)
        head = read_head(self._engine, self._location)
        if head is None or (head.owner, head.commit) != (self._head.owner, commit):
            raise lost(self._location)
        self._head = head

    def _go_on_from_head(self) -> None:
        head = read_head(self._engine, self._location)
        if head is not None and head.owner == self._head.owner:
            self._head = head
            undo_after(self._engine, head.commit)
            self._listing = list_versions(self._engine, head, self._listing)
