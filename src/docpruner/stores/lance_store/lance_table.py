"""What is asked of Lance, all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import lance
import pyarrow as pa
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments
from lance.query import MatchQuery

from docpruner.errors import IndexStateError
from docpruner.stores.lance_store.lance_errors import ConflictError, is_s3, lance_errors

FRAGMENT_BYTES = 64 << 20  # of a file of rows, at most
BATCH_BYTES = 16 << 20  # of what is read at a time
WORDS = "words"  # the column that texts are searched in


@dataclass(frozen=True)
class Fragment:
    """A file of rows, less those deleted from it. Equal ones have the same rows."""

    id: int
    deletions: str | None  # another file for every change
    rows: int  # that are left
    physical: int  # that it was written with
    bytes: int


def uri_of(location: str) -> str:
    """As Lance wants it."""
    path = location.partition("://")[2]
    return f"s3://{path}" if is_s3(location) else path


def storage_options(location: str) -> dict[str, str] | None:
    """What the environment says is read by Lance itself; an endpoint of http means what it says."""
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    return {"allow_http": "true"} if plain and is_s3(location) else None


class LanceTable:
    """A table at one version."""

    def __init__(self, location: str, dataset: Any) -> None:
        self.location = location
        self._dataset = dataset

    @classmethod
    def create(cls, location: str, rows: pa.Table) -> LanceTable | None:
        """None if there is one already."""
        with lance_errors(location):
            try:
                made = lance.write_dataset(
                    rows, uri_of(location), mode="create", storage_options=storage_options(location)
                )
            except OSError as error:
                if "already exists" in str(error) or isinstance(error, CommitConflictError):
                    return None
                raise
            return cls(location, made)

    @classmethod
    def open(cls, location: str) -> LanceTable | None:
        """None if there is none."""
        with lance_errors(location):
            try:
                options = storage_options(location)
                return cls(location, lance.dataset(uri_of(location), storage_options=options))
            except ValueError as error:
                if "was not found" in str(error) and "NoSuchBucket" not in str(error):
                    return None
                raise

    # ------------------------------------------------------------------ versions

    @property
    def version(self) -> int:
        return int(self._dataset.version)

    @property
    def schema(self) -> pa.Schema:
        with lance_errors(self.location):
            return self._dataset.schema

    def latest(self) -> LanceTable:
        with lance_errors(self.location):
            version = self._dataset.latest_version
            return self if version == self.version else self._at(version)

    def at(self, version: int) -> LanceTable:
        with lance_errors(self.location):
            there = [int(each["version"]) for each in self._dataset.versions()]
            if version not in there:
                listed = ", ".join(map(str, there[-10:]))
                raise IndexStateError(f"{self.location} has no version {version}; it has {listed}")
            return self._at(version)

    def _at(self, version: int) -> LanceTable:
        return LanceTable(self.location, self._dataset.checkout_version(version))

    def versions(self) -> list[tuple[int, datetime]]:
        with lance_errors(self.location):
            there = self._dataset.versions()
            return [(int(each["version"]), each["timestamp"].astimezone()) for each in there]

    # ------------------------------------------------------------------ reading

    @cached_property
    def fragments(self) -> list[Fragment]:
        with lance_errors(self.location):
            return [_fragment(each) for each in self._dataset.get_fragments()]

    def scan(
        self, columns: Sequence[str], fragments: Sequence[Fragment], *, addresses: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Rows in the order in which they lie, some megabytes at a time; with `addresses`, with the
        fragment and the place of each in it as `_rowaddr`."""
        rows = sum(each.physical for each in fragments) or 1
        size = max(1, sum(each.bytes for each in fragments) // rows)
        with lance_errors(self.location):
            batches = self._dataset.scanner(
                columns=list(columns),
                fragments=[self._dataset.get_fragment(each.id) for each in fragments],
                batch_size=min(8192, max(1, BATCH_BYTES // size)),
                scan_in_order=True,
                with_row_address=addresses,
            ).to_batches()
            more = iter(batches)
        while True:
            with lance_errors(self.location):
                batch = next(more, None)
            if batch is None:
                return
            yield batch

    def take(self, fragment: Fragment, places: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Rows of a fragment, by their places among those that are left."""
        with lance_errors(self.location):
            found = self._dataset.get_fragment(fragment.id)
            return found.take(list(places), columns=list(columns))

    def search_words(self, query: str, columns: Sequence[str], limit: int) -> pa.Table:
        """The rows that fit best, with their `_score`; those in no index are read through."""
        with lance_errors(self.location):
            return self._dataset.scanner(
                columns=[*columns, "_score"],
                full_text_query=MatchQuery(query, WORDS),
                limit=limit,
            ).to_table()

    # ------------------------------------------------------------------ writing

    def write(self, rows: pa.Table) -> list[FragmentMetadata]:
        """Files of rows, which nobody sees before they are committed."""
        with lance_errors(self.location):
            written = write_fragments(
                rows,
                self._dataset,
                schema=self.schema,
                mode="append",
                max_bytes_per_file=FRAGMENT_BYTES,
            )
            return list(written)

    def commit(
        self,
        head: Fragment,
        new: Sequence[FragmentMetadata],
        deleted: dict[int, list[int]],
        removed: Sequence[int],
    ) -> LanceTable:
        """Make new files visible, and take out rows (by fragment, their places) and fragments.

        ConflictError if the table has changed since: all commits are said to update the `head`.
        """
        gone, updated = list(removed), []
        with lance_errors(self.location):
            for fragment, places in deleted.items():
                left = self._dataset.get_fragment(fragment).delete_rows(places)
                if left is None:
                    gone.append(fragment)
                else:
                    updated.append(left)
            if head.id not in gone:
                updated.append(self._dataset.get_fragment(head.id).metadata)
            change = lance.LanceOperation.Update(
                removed_fragment_ids=gone, updated_fragments=updated, new_fragments=list(new)
            )
            try:
                made = lance.LanceDataset.commit(self._dataset, change, read_version=self.version)
            except CommitConflictError as error:
                raise ConflictError from error
            return LanceTable(self.location, made)

    # ------------------------------------------------------------------ upkeep

    def index_words(self) -> None:
        """Make an index of the words, or bring it up to date."""
        with lance_errors(self.location):
            if self._dataset.describe_indices():
                self._dataset.optimize.optimize_indices()
                return
            self._dataset.create_scalar_index(
                WORDS,
                "INVERTED",
                base_tokenizer="simple",
                lower_case=True,
                stem=False,
                remove_stop_words=False,
                ascii_folding=False,
                max_token_length=None,
                with_position=False,
            )

    def remove_versions(self, older_than: timedelta) -> None:
        """Those with a tag stay."""
        with lance_errors(self.location):
            self._dataset.cleanup_old_versions(older_than, error_if_tagged_old_versions=False)

    def bytes_on_disk(self) -> int:
        """Of all versions."""
        with lance_errors(self.location):
            return int(sum(self._dataset.all_files().read_all()["size_bytes"].to_pylist()))

    def bytes_of_indexes(self) -> int:
        with lance_errors(self.location):
            indexes = self._dataset.describe_indices()
            return sum(int(each.total_size_bytes or 0) for each in indexes)


def _fragment(found: Any) -> Fragment:
    metadata = found.metadata
    size = sum(file.file_size_bytes or 0 for file in metadata.files)
    return Fragment(
        metadata.id, found.deletion_file(), metadata.num_rows, metadata.physical_rows, size
    )
