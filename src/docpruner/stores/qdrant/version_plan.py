"""What a change makes of the versions of documents, worked out before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from docpruner.stores.qdrant.version_listing import Listing, Version
from docpruner.stores.records import DocumentPages, DocumentRecord, StoredPage
from docpruner.types import Metadata


class Plan:
    """Begins with what there is; each call works on what those before have left."""

    def __init__(self, listing: Listing, versions: int) -> None:
        self._before = listing
        self.versions = versions  # numbers given so far
        self.current = dict(listing.current)
        self.incoming = dict(listing.incoming)
        self.pages: dict[tuple[int, int], StoredPage] = {}  # by version and number, to be written
        self.shown: set[int] = set()  # versions that were on their way in and are in

    # ------------------------------------------------------------------ changes

    def store(self, part: DocumentPages) -> None:
        """Add pages to the version of a document that they belong to."""
        record, name = part.document, part.document.name
        version = self._version_for(record)
        if record.metadata is not None:
            version = _with_metadata(version, record.metadata)
        (self.incoming if version.incoming else self.current)[name] = version
        for page in part.pages:
            self.pages[version.number, page.number] = replace(page, document=name)
        if part.finished:
            self.incoming.pop(name, None)
            if version.incoming:
                self.shown.add(version.number)
                self.current[name] = replace(version, incoming=False)

    def _version_for(self, record: DocumentRecord) -> Version:
        current, incoming = self.current.get(record.name), self.incoming.get(record.name)
        for version in (current, incoming):
            if version is not None and version.record.content_hash == record.content_hash:
                return version
        metadata = {} if current is None else current.metadata
        self.versions += 1
        return Version(self.versions, replace(record, metadata=metadata), current is not None)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self.current.pop(name, None)
            self.incoming.pop(name, None)

    def rename(self, names: Mapping[str, str]) -> None:
        for versions in (self.current, self.incoming):
            moved = {names[old]: versions.pop(old) for old in names.keys() & versions.keys()}
            for new, version in moved.items():
                versions[new] = replace(version, record=replace(version.record, name=new))

    def set_metadata(self, metadata: Mapping[str, Metadata]) -> None:
        for versions in (self.current, self.incoming):
            for name in metadata.keys() & versions.keys():
                versions[name] = _with_metadata(versions[name], metadata[name])

    # ------------------------------------------------------------------ what they come to

    @property
    def after(self) -> dict[int, Version]:
        both = (*self.current.values(), *self.incoming.values())
        return {version.number: version for version in both}

    @property
    def gone(self) -> list[int]:
        """Versions that were there and are not."""
        return sorted(self._before.versions.keys() - self.after.keys())

    @property
    def changed(self) -> list[Version]:
        """Versions that are new, or not as they were."""
        before = self._before.versions
        return [version for number, version in self.after.items() if before.get(number) != version]

    @property
    def replaced(self) -> list[tuple[int, int]]:
        """Pages to be written of versions that were there: older ones of their numbers go."""
        return [page for page in self.pages if page[0] in self._before.versions]

    def listing(self, commit: int) -> Listing:
        return Listing(self._before.index, commit, self.after)


def _with_metadata(version: Version, metadata: Metadata) -> Version:
    return replace(version, record=replace(version.record, metadata=dict(metadata)))
