"""What of an index another store lacks, and whether it can be copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from docpruner.errors import DamagedIndexError
from docpruner.pipeline.prune import Stricter
from docpruner.stores.contract import Progress, Reader, Store, Verifiable
from docpruner.stores.records import DocumentEntry, StoredPage
from docpruner.types import Metadata


class Part(NamedTuple):
    """A document, and the numbers of the pages of it that the target lacks."""

    entry: DocumentEntry
    numbers: Sequence[int]


@dataclass(frozen=True)
class Plan:
    parts: Sequence[Part]
    unchanged: int
    metadata: Mapping[str, Metadata]  # of unchanged documents, where the target has another


def whole_plan(reader: Reader) -> list[Part]:
    """Documents of which no page is there are left out: there is nothing to find in them."""
    numbers: dict[str, list[int]] = {}
    for name, number in sorted(reader.pages()):
        numbers.setdefault(name, []).append(number)
    return [
        Part(entry, numbers[entry.name]) for entry in reader.documents() if entry.name in numbers
    ]


def plan_of(reader: Reader, target: Store) -> Plan:
    parts, metadata, unchanged = [], {}, 0
    with target.reader() as there:
        documents = {entry.name: entry for entry in there.documents()}
        for entry, numbers in whole_plan(reader):
            current = documents.get(entry.name)
            if current is None:
                parts.append(Part(entry, numbers))
                continue
            missing = _missing(reader, there, entry, numbers)
            if missing or current.content_hash != entry.content_hash:
                parts.append(Part(entry, missing))
                continue
            unchanged += 1
            if dict(current.metadata) != dict(entry.metadata):
                metadata[entry.name] = entry.metadata
    return Plan(parts, unchanged, metadata)


def _missing(
    reader: Reader, there: Reader, entry: DocumentEntry, numbers: Sequence[int]
) -> list[int]:
    """Pages that the target lacks, or has without the words that the source has by now."""
    known = there.known(entry.name, entry.content_hash)
    if known is None or not known.same:
        return list(numbers)
    lacking = set(numbers) - known.there
    if known.without_words:
        own = reader.known(entry.name, entry.content_hash)
        silent = known.without_words if own is None else own.without_words
        lacking |= (known.without_words - silent) & set(numbers)
    return sorted(lacking)


def check_source(
    source: Store,
    reader: Reader,
    change: Stricter,
    parts: Sequence[Part],
    wait: float,
    progress: Progress | None,
) -> None:
    """That all pages are as they were written, and that the spec can be made of each of them."""
    if isinstance(source, Verifiable):
        damaged = source.verify(isolate=False, wait=wait, progress=progress)
        if damaged:
            first = f"{damaged[0].document}#{damaged[0].page}"
            raise DamagedIndexError(
                f"{source.location}: {first} is damaged ({damaged[0].reason}), of {len(damaged):,} "
                f"pages in all; take them out with: docpruner verify {source.location}"
            )
    if change.may_refuse:
        total, done = sum(len(part.numbers) for part in parts), 0
        for part in parts:
            for number in part.numbers:
                change(read_page(source, reader, part.entry.name, number))
                done += 1
                if progress is not None:
                    progress(done, total)


def read_page(source: Store, reader: Reader, document: str, number: int) -> StoredPage:
    page = reader.page(document, number)
    if page is None:
        raise DamagedIndexError(
            f"{source.location} lists {document}#{number} and does not have it; run: docpruner "
            f"verify {source.location}"
        )
    return page
