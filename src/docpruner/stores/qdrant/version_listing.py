"""The versions of documents that an index holds at one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID, uuid5

from docpruner.stores.qdrant.history import DOCUMENTS, FAR, Head, alive
from docpruner.stores.qdrant.points import Between, Engine, Payload, Point, Where
from docpruner.stores.records import DocumentRecord
from docpruner.types import Metadata

POINTS = UUID("d0c00000-0000-5000-8000-000000000000")  # ids of points are made from it


@dataclass(frozen=True)
class Version:
    """A document as it was read once. Its pages name its number, and nothing else of it."""

    number: int
    record: DocumentRecord
    incoming: bool  # to replace another version, when it is finished

    @property
    def metadata(self) -> Metadata:
        return self.record.metadata or {}

    def point(self, commit: int) -> Point:
        record = self.record
        entry = {
            "name": record.name,
            "content_hash": record.content_hash.hex(),
            "bytes": record.bytes,
            "pages": record.pages,
            "metadata": dict(self.metadata),
        }
        payload = {
            "kind": "document",
            "version": self.number,
            "document": record.name.encode(errors="replace").decode(),  # for people's eyes
            "entry": json.dumps(entry),
            "incoming": self.incoming,
            "born": commit,
            "died": FAR,
        }
        return Point(str(uuid5(POINTS, f"document {self.number} {commit}")), payload)


def version_of(payload: Payload) -> Version:
    entry = json.loads(payload["entry"])
    record = DocumentRecord(
        entry["name"],
        bytes.fromhex(entry["content_hash"]),
        entry["bytes"],
        entry["pages"],
        entry["metadata"],
    )
    return Version(payload["version"], record, payload["incoming"])


@dataclass(frozen=True, eq=False)
class Listing:
    index: str
    commit: int
    versions: Mapping[int, Version] = field(default_factory=dict)

    @cached_property
    def current(self) -> dict[str, Version]:
        """Of each document the version that is searched, by name."""
        found = [each for each in self.versions.values() if not each.incoming]
        return {each.record.name: each for each in sorted(found, key=lambda v: v.record.name)}

    @cached_property
    def incoming(self) -> dict[str, Version]:
        return {each.record.name: each for each in self.versions.values() if each.incoming}


def list_versions(engine: Engine, head: Head, known: Listing | None) -> Listing:
    """Only what has changed is read, if an older listing is known that goes far enough back."""
    commit, versions = head.commit, dict[int, Version]()
    where: Where = alive(commit)
    if known is not None and known.index == head.index and head.purged <= known.commit <= commit:
        if known.commit == commit:
            return known
        versions |= known.versions
        gone: Where = (Between("died", low=known.commit + 1, high=commit),)
        for found in engine.scan(DOCUMENTS + gone, ["version"]):
            versions.pop(found.payload["version"], None)
        where += (Between("born", low=known.commit + 1),)
    for found in engine.scan(DOCUMENTS + where):
        version = version_of(found.payload)
        versions[version.number] = version
    return Listing(head.index, commit, versions)
