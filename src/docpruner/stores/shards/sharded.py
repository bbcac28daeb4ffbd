"""A set of indexes as one store to read: what they say is merged as if they were one index."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

from docpruner.errors import (
    IndexClosedError,
    IndexStateError,
    MissingShardsError,
    MissingShardsWarning,
)
from docpruner.stores.contract import WAIT, Progress, Writer
from docpruner.stores.records import (
    Damage,
    DocumentEntry,
    KnownDocument,
    PageName,
    RankedPage,
    Stats,
    StoredPage,
)
from docpruner.stores.settings import Settings
from docpruner.stores.shards.merging import best_of, in_turns, merged_settings, merged_stats
from docpruner.stores.shards.moments import Call, Facts, Holder, Moment, NearShards
from docpruner.stores.shards.shard_list import ShardList, list_exists
from docpruner.types import Filter, FloatArray

BROUGHT = 100  # pages that are fetched with a ranking, as they are likely to be shown


@dataclass(frozen=True)
class Directory:
    """Which shard has which document."""

    settings: Settings
    versions: Mapping[int, Hashable]
    names: Mapping[int, Sequence[str]] = field(repr=False)
    owners: Mapping[str, int] = field(repr=False)

    @classmethod
    def of(cls, listed: ShardList, facts: Mapping[int, Facts], before: Directory | None) -> Self:
        """A document in two shards is refused: it would be found twice, maybe in two versions."""
        where = [shard.location for shard in listed.shards]
        settings = {where[shard]: each.settings for shard, each in facts.items()}
        known = {} if before is None else before.names
        names = {n: known[n] if each.names is None else each.names for n, each in facts.items()}
        owners: dict[str, int] = {}
        for shard, documents in names.items():
            for document in documents:
                other = owners.setdefault(document, shard)
                if other != shard:
                    raise IndexStateError(
                        f"{document} is in two shards, {where[other]} and {where[shard]}; take it "
                        f"out of one of them: docpruner delete {where[shard]} {document}"
                    )
        versions = {shard: each.version for shard, each in facts.items()}
        return cls(merged_settings(listed.location, settings), versions, names, owners)


class ShardedReader:
    """Each shard is read at a moment of its own; they begin one right after another."""

    def __init__(self, store: ShardedStore, moment: Moment, before: Directory | None) -> None:
        self._store, self._moment = store, moment
        self._told: set[int] | None = None  # missing shards that were warned of
        self._pages: dict[PageName, StoredPage | None] = {}
        self._entries: dict[str, DocumentEntry | None] = {}
        self._tell_of_missing()
        self._directory = store.directory(moment.facts, before)
        self.settings = self._directory.settings

    @property
    def version(self) -> Hashable:
        return tuple(sorted(self._directory.versions.items(), key=lambda item: item[0]))

    # ------------------------------------------------------------------ documents and pages

    def documents(self) -> Sequence[DocumentEntry]:
        return sorted(self._joined(Call("documents")), key=lambda entry: entry.name)

    def document(self, name: str) -> DocumentEntry | None:
        if name not in self._entries:
            self._entries[name] = self._of_owner(name, Call("document", (name,)))
        return self._entries[name]

    def names(self) -> Sequence[str]:
        return sorted(self._directory.owners)

    def documents_like(self, content_hash: bytes) -> Sequence[str]:
        return sorted(self._joined(Call("documents_like", (content_hash,))))

    def pages(self) -> Sequence[PageName]:
        return self._joined(Call("pages"))

    def page(self, document: str, number: int) -> StoredPage | None:
        name = PageName(document, number)
        if name in self._pages:
            return self._pages[name]
        page: StoredPage | None = self._of_owner(document, Call("page", name))
        return page

    def known(self, document: str, content_hash: bytes) -> KnownDocument | None:
        known: KnownDocument | None = self._of_owner(
            document, Call("known", (document, content_hash))
        )
        return known

    def page_like(self, content_hash: bytes) -> StoredPage | None:
        like = self._of_all(Call("page_like", (content_hash,)))
        return next((page for page in like if page is not None), None)

    def stats(self) -> Stats:
        return merged_stats(self.settings, self._of_all(Call("stats")))

    # ------------------------------------------------------------------ search

    def rank(
        self,
        queries: Sequence[FloatArray],
        k: int,
        which: Filter,
        among: Sequence[Collection[PageName]] | None = None,
        *,
        exact: bool = True,
        candidates: int | None = None,
    ) -> list[list[RankedPage]]:
        options = {"exact": exact, "candidates": candidates}
        answers = self._ask(
            {
                shard: [Call("rank", (queries, k, which, part), options)]
                for shard, part in self._parts(among).items()
            }
        )
        rankings = [ranking for (ranking,) in answers.values()]
        best = [best_of((each[n] for each in rankings), k) for n in range(len(queries))]
        self._bring([page for pages in best for page in pages])
        return best

    def rank_text(self, query: str, k: int, which: Filter) -> list[RankedPage]:
        """Every shard scores by its own pages: how rare a word is there. So the order of pages of
        two shards is that of one index only as far as their words are spread alike. Where shards
        are stores of several kinds, whose scores have no scale in common, they take turns."""
        rankings = self._of_all(Call("rank_text", (query, k, which)))
        if self._store.kinds > 1:
            rankings = [in_turns(ranking) for ranking in rankings]
        best = best_of(rankings, k)
        self._bring(best)
        return best

    def _parts(
        self, among: Sequence[Collection[PageName]] | None
    ) -> dict[int, list[list[PageName]] | None]:
        """Of the candidates of each query, those in each shard that has any."""
        if among is None:
            return dict.fromkeys(self._moment.facts)
        parts: dict[int, list[list[PageName]] | None] = {}
        for number, pages in enumerate(among):
            for page in pages:
                shard = self._directory.owners.get(page[0])
                if shard is not None:
                    part = parts.setdefault(shard, [[] for _ in among])
                    assert part is not None
                    part[number].append(PageName(*page))
        return parts

    def _bring(self, ranked: Sequence[RankedPage]) -> None:
        """Fetch the best pages of a ranking from shards far away, all in one go."""
        if not self._moment.far:
            return
        wanted: dict[int, list[PageName]] = {}
        for page in dict.fromkeys(page.name for page in ranked[:BROUGHT]):
            wanted.setdefault(self._directory.owners[page.document], []).append(page)
        answers = self._ask(
            {
                shard: [
                    *(Call("page", name) for name in names),
                    *(Call("document", (name.document,)) for name in names),
                ]
                for shard, names in wanted.items()
            }
        )
        for shard, values in answers.items():
            names = wanted[shard]
            self._pages.update(zip(names, values[: len(names)], strict=True))
            documents = (name.document for name in names)
            self._entries.update(zip(documents, values[len(names) :], strict=True))

    # ------------------------------------------------------------------ asking

    def _joined(self, call: Call) -> list[Any]:
        return [each for answer in self._of_all(call) for each in answer]

    def _of_all(self, call: Call) -> list[Any]:
        answers = self._ask({shard: [call] for shard in self._moment.facts})
        return [answer for (answer,) in answers.values()]

    def _of_owner(self, document: str, call: Call) -> Any:
        """None if no shard has the document, or the one that has it is missing."""
        owner = self._directory.owners.get(document)
        if owner is None:
            return None
        answers = self._ask({owner: [call]})
        return answers[owner][0] if owner in answers else None

    def _ask(self, calls: Mapping[int, Sequence[Call]]) -> dict[int, list[Any]]:
        answers = self._moment.ask(calls)
        self._tell_of_missing()
        return dict(sorted(answers.items()))

    def _tell_of_missing(self) -> None:
        missing = self._moment.missing
        if set(missing) != self._told:
            self._told = set(missing)
            self._store.tell_of(missing)


class ShardedStore:
    """All of its shards are opened in this process; see `integrations.ray_shards` for others."""

    def __init__(self, listed: ShardList, holder: Holder) -> None:
        self._listed, self._holder = listed, holder
        self._closed = False
        self._directory: Directory | None = None
        self._missing: tuple[str, ...] = ()
        schemes = (shard.location.partition("://") for shard in listed.shards)
        self.kinds = len({scheme if colon else "" for scheme, colon, _ in schemes})
        try:
            with self.reader():  # what does not fit together is said now
                pass
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, location: str, settings: Settings) -> NoReturn:  # noqa: ARG003
        if list_exists(location):
            raise IndexStateError(f"{location} already holds an index; open it")
        raise IndexStateError(
            f"{location} can't be made at once: make each shard by itself, with docpruner index, "
            "and list them in a file"
        )

    @classmethod
    def open(cls, location: str) -> ShardedStore:
        listed = ShardList.read(location)
        return ShardedStore(listed, NearShards([shard.location for shard in listed.shards]))

    @classmethod
    def exists(cls, location: str) -> bool:
        return list_exists(location)

    @property
    def location(self) -> str:
        return self._listed.location

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ reading

    @contextmanager
    def reader(self) -> Iterator[ShardedReader]:
        self._check_open()
        before = self._directory
        with self._holder.moment({} if before is None else before.versions) as moment:
            yield ShardedReader(self, moment, before)

    def missing(self) -> Sequence[str]:
        """Locations of the shards that the last search did without."""
        return self._missing

    def tell_of(self, missing: Mapping[int, str]) -> None:
        """Fail, or warn if answers may be partial: every time, not only the first."""
        where = {self._listed.shards[n].location: missing[n] for n in sorted(missing)}
        self._missing = tuple(where)
        if not missing:
            return
        error = MissingShardsError(self.location, where, len(self._listed.shards))
        if not self._listed.partial or len(missing) == len(self._listed.shards):
            raise error
        text = f"this answer is partial: {error.what}"
        warnings.warn_explicit(text, MissingShardsWarning, __file__, 0)

    def directory(self, facts: Mapping[int, Facts], before: Directory | None) -> Directory:
        """Made again whenever a shard has changed, or is missing, or is back."""
        if before is None or {n: each.version for n, each in facts.items()} != before.versions:
            before = self._directory = Directory.of(self._listed, facts, before)
        return before

    def _check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self.location)

    # ------------------------------------------------------------------ changes, which are refused

    def writer(self, wait: float = WAIT) -> AbstractContextManager[Writer]:  # noqa: ARG002
        self._refuse("change")

    def verify(
        self,
        *,
        isolate: bool = True,  # noqa: ARG002
        wait: float = WAIT,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> list[Damage]:
        self._refuse("verify")

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None:  # noqa: ARG002
        self._refuse("compact")

    def _refuse(self, what: str) -> NoReturn:
        self._check_open()
        where = ", ".join(shard.location for shard in self._listed.shards)
        raise IndexStateError(
            f"{self.location} is a set of shards, to be read only; {what} one of them: {where}"
        )
