"""An index as a user holds it: make it, add to it, search it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.codecs import CodecName
from docpruner.errors import IndexStateError, PageError
from docpruner.index.health import Damage, Stats, damages, measure
from docpruner.index.records import DocumentEntry, StoredPage
from docpruner.index.settings import Settings
from docpruner.index.snapshot import Filter, matches
from docpruner.index.store import PageStore
from docpruner.index.writer import Progress
from docpruner.pages.problems import shown, unreachable
from docpruner.pipeline.add import Watch, add_files
from docpruner.pipeline.prune import Pruned, prune
from docpruner.pipeline.report import AddReport
from docpruner.reduce import reducer
from docpruner.search.hits import search_many
from docpruner.types import Hit

if TYPE_CHECKING:
    from docpruner.encoders.registry import Encoder

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

DEFAULT_SPEC = "docpruner:k=-0.25"
WAIT = 10.0  # seconds for another writer to finish


class Index:
    """A folder of pruned pages.

    `Index.create` makes one, `Index.open` opens it again, in as many processes as you like; one at
    a time can change it.
    """

    def __init__(self, store: PageStore, encoder: Encoder | None = None) -> None:
        self._store = store
        self._encoder = encoder

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        *,
        encoder: str | Encoder = "builtin",
        spec: str = DEFAULT_SPEC,
        codec: CodecName = "int8",
        importances: bool = True,
    ) -> Index:
        """Make a new index. `importances=False` stores none of the pruned patches': a little
        smaller, but what was pruned can't be shown, nor pruned further by importance."""
        reduce = reducer(spec)
        if isinstance(encoder, str):
            from docpruner.encoders.registry import load_encoder

            filtering = reduce.prompt == "noise-filtering"
            encoder = load_encoder(encoder, prompt="noise-filtering" if filtering else None)
        if reduce.prompt == "noise-filtering" != encoder.prompt:
            raise IndexStateError(
                f"{reduce} needs an encoder with the noise-filtering prompt; {encoder.name} has "
                "the default one"
            )
        settings = Settings.new(encoder.name, encoder.dim, str(reduce), codec, importances)
        return cls(PageStore.create(Path(folder), settings), encoder)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, encoder: Encoder | None = None) -> Index:
        """Open an index. Its encoder is loaded by name when it is first needed, unless given."""
        store = PageStore(Path(folder))
        settings = store.settings
        if encoder is not None and (encoder.name, encoder.dim) != (settings.encoder, settings.dim):
            store.close()
            raise IndexStateError(
                f"{folder} was made with the encoder {settings.encoder} ({settings.dim} "
                f"dimensions), not with {encoder.name} ({encoder.dim}): vectors of two encoders "
                "can't be compared. Open it without an encoder, or make another index"
            )
        return cls(store, encoder)

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        return self._store.folder

    @property
    def settings(self) -> Settings:
        """The encoder, the reduction and the codec that its vectors were made with."""
        return self._store.settings

    @property
    def encoder(self) -> Encoder:
        if self._encoder is None:
            from docpruner.encoders.registry import load_encoder

            self._encoder = load_encoder(self.settings.encoder)
        return self._encoder

    def add(
        self,
        paths: Paths,
        *,
        ocr: bool = False,
        metadata: Mapping[str, str] | None = None,
        wait: float = WAIT,
        watch: Watch | None = None,
    ) -> AddReport:
        """Bring the index up to date with files and folders.

        Unchanged documents are skipped, changed ones replaced at once when all their pages are in.
        `ocr` recognises the words of pages that have none (extra `ocr`). `metadata` is kept with
        each document, to filter by. `watch` gets the report so far, batch by batch.
        """
        return add_files(
            self._store,
            self.encoder,
            _listed(paths),
            ocr=ocr,
            metadata=metadata,
            wait=wait,
            watch=watch,
        )

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        documents: str | Sequence[str] = (),
        pages: tuple[int, int | None] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[Hit]:
        """The `k` best pages, of all, or of documents that fit a glob, have the metadata, and of
        those only pages from the first to the last number given."""
        return self.search_many([query], k, documents=documents, pages=pages, metadata=metadata)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        documents: str | Sequence[str] = (),
        pages: tuple[int, int | None] | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[list[Hit]]:
        """As `search`, for many queries in one pass over the index."""
        globs = (documents,) if isinstance(documents, str) else tuple(documents)
        return search_many(self._store, self.encoder, queries, k, Filter(globs, pages, metadata))

    def documents(self) -> list[DocumentEntry]:
        return self._store.documents()

    def page(self, document: str, number: int) -> StoredPage | None:
        """What is stored of a page: its vectors, the importance of every patch, what was kept."""
        return self._store.page_of(document, number)

    def is_up_to_date(self, document: str) -> bool:
        """Whether a file is still as it was indexed; PageError if it is gone or can't be read."""
        try:
            with Path(document).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").digest()
        except FileNotFoundError:
            remedy = f"put it back, or take it out: docpruner delete {self.folder} {document}"
            raise PageError(shown(document), "is gone since it was indexed", remedy) from None
        except OSError as error:
            raise unreachable(document, error) from None
        return self._store.known(document, sha256) is not None

    def delete(
        self, globs: str | Sequence[str], *, dry_run: bool = False, wait: float = WAIT
    ) -> list[str]:
        """Remove the documents that fit any of the globs; returns their paths."""
        wanted = (globs,) if isinstance(globs, str) else tuple(globs)

        def fitting() -> list[str]:
            paths = self._store.paths()
            return [path for path in paths if any(matches(path, glob) for glob in wanted)]

        if dry_run:
            return fitting()
        with self._store.writer(wait) as writer:
            gone = fitting()
            writer.delete_documents(gone)
        return gone

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> int:
        """Give back the room of deleted and replaced pages; returns the bytes freed."""
        before = self.stats().bytes_on_disk
        with self._store.writer(wait) as writer:
            writer.compact(progress)
        return before - self.stats().bytes_on_disk

    def prune(
        self,
        spec: str,
        *,
        dry_run: bool = False,
        wait: float = WAIT,
        progress: Progress | None = None,
    ) -> Pruned:
        """Reduce what is stored by a stricter spec, without encoding anything again.

        With `dry_run`, only says how many vectors would be left.
        """
        return prune(self._store, spec, dry_run=dry_run, wait=wait, progress=progress)

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        """Compare every byte with its checksum.

        Damaged pages are taken out of the index, unless `isolate` is false; the next `add` of
        their documents encodes them again. A damaged catalogue is a DamagedIndexError.
        """
        found = list(damages(self.folder, progress))
        if found and isolate:
            with self._store.writer(wait) as writer:
                writer.delete_pages([damage.page_id for damage in found])
        return found

    def stats(self) -> Stats:
        return measure(self.folder)


def _listed(paths: Paths) -> list[str | Path]:
    if isinstance(paths, str | os.PathLike):
        return [Path(paths)]
    return [Path(path) for path in paths]
