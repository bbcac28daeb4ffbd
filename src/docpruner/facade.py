"""An index as a user holds it: make it, add to it, search it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from docpruner.codecs import CodecName
from docpruner.encoders.model_options import ModelOptions, gives_importance
from docpruner.errors import (
    AddError,
    BudgetError,
    DocPrunerError,
    EncoderError,
    IndexStateError,
    PageError,
    ScoringError,
)
from docpruner.hits import Hit
from docpruner.pages.embedding_source import EmbeddingSource
from docpruner.pages.file_source import FileSource, is_gone
from docpruner.pages.image_source import ImageSource
from docpruner.pages.object_files import is_url, unread_source
from docpruner.pages.ocr import recognised_words, uses_ocr
from docpruner.pages.page_files import PageFiles
from docpruner.pages.problems import printable_path, unreachable
from docpruner.pages.sources import Source
from docpruner.pipeline.add import add_documents
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.pipeline.budget import MILDEST, Budget, Choice
from docpruner.pipeline.copying import CopyReport, copy_index
from docpruner.pipeline.export_formats import ExportFormat
from docpruner.pipeline.exporting import Exported, VectorNumbers, export_index
from docpruner.pipeline.fit import listed_choices, prune_to
from docpruner.pipeline.importance_check import named_for, require_importance
from docpruner.pipeline.metadata import GivenMetadata, metadata_of
from docpruner.pipeline.page_workers import PageWorkers, WorkElsewhere
from docpruner.pipeline.prune import Pruned, prune
from docpruner.reduce import Reducer, reducer
from docpruner.search.filters import matching
from docpruner.search.searcher import Question, find, questions
from docpruner.search.tuning import measured
from docpruner.stores.contract import (
    WAIT,
    Compactable,
    Progress,
    Reader,
    Sharded,
    Staged,
    Store,
    Verifiable,
    Versioned,
)
from docpruner.stores.locations import Location, create_store, open_store, store_exists
from docpruner.stores.records import (
    Damage,
    DocumentEntry,
    FirstStageState,
    IndexVersion,
    PageName,
    Stats,
    StoredPage,
    Tuning,
)
from docpruner.stores.settings import Settings
from docpruner.types import Filter, Metadata, Mode, Ocr, PageEmbedding, Prompt, is_named

if TYPE_CHECKING:
    from PIL.Image import Image

    from docpruner.encoders.encoder_name import Reads
    from docpruner.encoders.registry import Encoder

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
PageRange = tuple[int, int | None]

DEFAULT_SPEC = "docpruner:k=-0.25"
DEFAULT_CODEC: CodecName = "int4"
NO_BUDGET = "none"


class Index:
    """Pruned pages, to search.

    `Index.create` makes one, `Index.open` opens it again, in as many processes as you like; one at
    a time can change it. A location is a folder's path, `scheme://…` for another store, or None
    for an index in memory.
    """

    def __init__(self, store: Store, encoder: Encoder | None = None) -> None:
        """Use `Index.create` or `Index.open`; this is for a store that is open already."""
        if store is None or isinstance(store, str | os.PathLike):
            raise IndexStateError(
                f"Index({store!r}) opens nothing; call Index.open, Index.create or "
                "Index.open_or_create"
            )
        self._store = store
        self._encoder = encoder
        self._given = encoder  # None if it is found by its name
        self._model_options = ModelOptions()
        self._files = PageFiles()
        self._encoding = threading.Lock()  # tokenizers must not be used by two threads at once
        self.root = ""  # below which documents are named; empty if by their whole paths

    # ------------------------------------------------------------------ making and opening

    @classmethod
    def create(
        cls,
        location: Location,
        *,
        encoder: str | Encoder = "builtin",
        reduction: str | Reducer | None = None,
        spec: str | None = None,
        codec: CodecName | None = None,
        importances: bool = True,
        text: bool = True,
        root: str | os.PathLike[str] | None = None,
        budget: str | int | None = None,
        device: str | None = None,
        trust_remote_code: bool = False,
        model_options: ModelOptions | None = None,
    ) -> Index:
        """Make a new index.

        location: a folder that is not there yet or empty, `scheme://…`, or None for memory.
        encoder: "builtin", a Hugging Face repository, a folder, or an encoder that is loaded.
        reduction: how pages are reduced, such as "docpruner:k=-0.25"; `spec` is the same.
        codec: how vectors are stored: "int4", "int2" or "int1" to save more, "int8", "float16" or
            "float32" to round less. By default "int4", which is 66 bytes for 128 dimensions, or
            what the encoder prefers: "int2" of the built-in one, 66 bytes for its 256. With a
            budget "int8", to begin with.
        importances: False stores none of the pruned patches': a little smaller, but what was pruned
            can't be shown, nor pruned further by importance.
        text: False stores none of the words of pages: searches by text find nothing then, and what
            hits show of the text is read from the files.
        root: a folder below which all documents lie. They are then named by their paths below it,
            and may be moved together with the index. Without it they have their whole paths.
        budget: what it may take on disk, such as "2GB" or "4kB/page". Unless you give a reduction,
            it begins with all patches, and whenever adding passes the budget, all of it is given
            the next setting that fits: see `budget_choices`.
        device: where a model named by `encoder` runs: "cuda", "mps" or "cpu".
        trust_remote_code: lets such a model run code of its own (Jina v4).
        model_options: more on how it runs: precision, batches, kernels, several devices.
        """
        limit = "" if budget is None else str(Budget.read(budget))
        begin, mildest = MILDEST if limit else (DEFAULT_SPEC, None)
        reduce = reducer(str(_one_of(reduction, spec) or begin))
        options, named = _options(model_options, device, trust_remote_code), encoder
        if isinstance(encoder, str):
            filtering: Prompt | None = None if reduce.prompt == "default" else reduce.prompt
            encoder = options.load(named_for(encoder, reduce), prompt=filtering)
        if reduce.prompt == "noise-filtering" != encoder.prompt:
            raise IndexStateError(
                f"{reduce} needs an encoder with the noise-filtering prompt; {encoder.name} has "
                "the default one"
            )
        require_importance(encoder, reduce)
        importances = importances and gives_importance(encoder)
        settings = Settings.new(
            encoder.name,
            encoder.dim,
            str(reduce),
            codec or mildest or preferred_codec(encoder),
            importances,
            _stored_root(location, root),
            limit,
            text,
        )
        index = cls(create_store(location, settings), encoder)
        index._model_options = options
        if isinstance(named, str):
            index._given = None
        return index._rooted(root)

    @classmethod
    def open(
        cls,
        location: Location,
        *,
        encoder: Encoder | None = None,
        root: str | os.PathLike[str] | None = None,
        version: int | None = None,
        device: str | None = None,
        trust_remote_code: bool = False,
        model_options: ModelOptions | None = None,
    ) -> Index:
        """Open an index that is there.

        Its encoder is loaded by name when it is first needed, on `device` and with
        `trust_remote_code`, unless one of the same name is given as `encoder`. `root` is where the
        documents of an index that was made with a root lie now, if they were moved without it.
        `version` is one of `versions()`, for a store that keeps them: the index as it was then,
        which can be read only.
        """
        store = open_store(location)
        if version is not None:
            store = _at_version(store, version)
        index = cls(store, encoder)
        settings = index.settings
        if encoder is not None and not (
            _names(encoder.name, settings.encoder) and encoder.dim == settings.dim
        ):
            index.close()
            raise IndexStateError(
                f"{store.location} was made with the encoder {settings.encoder} ({settings.dim} "
                f"dimensions), not with {encoder.name} ({encoder.dim}): vectors of two encoders "
                "can't be compared. Open it without an encoder, or make another index"
            )
        if root is not None and not settings.root:
            index.close()
            raise IndexStateError(
                f"{store.location} was made without a root: its documents have their whole paths"
            )
        index._model_options = _options(model_options, device, trust_remote_code)
        return index._rooted(root)

    @classmethod
    def open_or_create(
        cls,
        location: Location,
        *,
        encoder: str | Encoder | None = None,
        reduction: str | Reducer | None = None,
        spec: str | None = None,
        codec: CodecName | None = None,
        importances: bool | None = None,
        text: bool | None = None,
        root: str | os.PathLike[str] | None = None,
        budget: str | int | None = None,
        device: str | None = None,
        trust_remote_code: bool = False,
        model_options: ModelOptions | None = None,
    ) -> Index:
        """Open the index if there is one, make it if not.

        The arguments are those of `create`. If the index is there, those that are given have to be
        as it was made; an IndexStateError says what differs. Only a budget may be another one: the
        index then keeps to that, from the next `add` on.
        """
        chosen = _one_of(reduction, spec)
        if not store_exists(location):
            return cls.create(
                location,
                encoder="builtin" if encoder is None else encoder,
                reduction=chosen,
                codec=codec,
                importances=importances is not False,
                text=text is not False,
                root=root,
                budget=budget,
                device=device,
                trust_remote_code=trust_remote_code,
                model_options=model_options,
            )
        loaded = None if isinstance(encoder, str) else encoder
        index = cls.open(
            location,
            encoder=loaded,
            root=root,
            device=device,
            trust_remote_code=trust_remote_code,
            model_options=model_options,
        )
        try:
            name = encoder if isinstance(encoder, str) else None
            index._check(name, None if chosen is None else str(chosen), codec, importances, text)
            if budget is not None:
                index._set_budget(Budget.read(budget))
        except BaseException:
            index.close()
            raise
        return index

    def _rooted(self, root: str | os.PathLike[str] | None) -> Index:
        """With its documents below `root`, or where they were when it was made."""
        stored = self.settings.root
        if stored:
            base = "" if "://" in self.location else os.path.abspath(self.location)
            there = stored if root is None else os.path.abspath(root)
            self.root = self._files.root = os.path.normpath(os.path.join(base, there))
        return self

    @staticmethod
    def exists(location: Location) -> bool:
        """Whether there is an index at a location."""
        return store_exists(location)

    def _check(
        self,
        encoder: str | None,
        spec: str | None,
        codec: CodecName | None,
        importances: bool | None,
        text: bool | None,
    ) -> None:
        """That the index is as asked for."""
        settings = self.settings
        named = encoder is not None and _names(
            named_for(encoder, reducer(settings.spec)), settings.encoder
        )
        for what, asked, own in (
            ("encoder", encoder, encoder if named else settings.encoder),
            ("spec", spec and str(reducer(spec)), settings.spec),
            ("codec", codec, settings.codec),
            ("importances", importances, settings.importances),
            ("text", text, settings.text),
        ):
            if asked is not None and asked != own:
                stricter = f"; docpruner prune {self.location} {spec} makes it stricter"
                raise IndexStateError(
                    f"{self.location} has {what} {own}, not {asked}: leave the option out, or make "
                    f"another index{stricter if what == 'spec' else ''}"
                )

    def close(self) -> None:
        """Close the index; what was added stays. Called twice, it does nothing."""
        self._files.close()
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------ what it is

    @property
    def location(self) -> str:
        """By which it is opened again."""
        return self._store.location

    @property
    def settings(self) -> Settings:
        """The encoder, the reduction and the codec that its vectors were made with."""
        with self._store.reader() as reader:
            return reader.settings

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded when it is first needed."""
        with self._encoding:
            if self._encoder is None:
                settings = self.settings
                encoder = self._model_options.load(settings.encoder)
                if encoder.dim != settings.dim:
                    raise IndexStateError(
                        f"the vectors of {self.location} have {settings.dim} dimensions, those of "
                        f"{encoder.name} now have {encoder.dim}: another version of it made them. "
                        "Index the files anew"
                    )
                self._encoder = encoder
            return self._encoder

    @property
    def reads(self) -> Reads:
        """What the encoder sees of a page: "words" or "pixels". It need not be loaded for that."""
        from docpruner.encoders.registry import EncoderName

        if self._encoder is not None:
            return self._encoder.reads
        return EncoderName.read(self.settings.encoder).reads

    def __repr__(self) -> str:
        return f"Index({self.location!r})"

    def __len__(self) -> int:
        """The number of pages."""
        with self._store.reader() as reader:
            return reader.stats().pages

    def __contains__(self, document: object) -> bool:
        """Whether there is a document of this name, or whose path ends in it."""
        name = os.fspath(document) if isinstance(document, os.PathLike) else document
        if not isinstance(name, str):
            return False
        with self._store.reader() as reader:
            return any(is_named(each, name) for each in reader.names())

    def reader(self) -> AbstractContextManager[Reader]:
        """The index at one moment, for several looks that have to fit together."""
        return self._store.reader()

    def documents(self) -> list[DocumentEntry]:
        """All documents with their pages and metadata, by name."""
        with self._store.reader() as reader:
            return list(reader.documents())

    def pages(self) -> list[PageName]:
        """Document and number of every page; `index.page(*name)` is what is stored of it."""
        with self._store.reader() as reader:
            return sorted(reader.pages())

    def page(self, document: str, number: int) -> StoredPage | None:
        """What is stored of a page: its vectors, the importance of every patch, what was kept."""
        with self._store.reader() as reader:
            return reader.page(document, number)

    def stats(self) -> Stats:
        """What the index holds, what it takes, and what it would take unpruned."""
        with self._store.reader() as reader:
            return reader.stats()

    def versions(self) -> list[IndexVersion]:
        """The states that `Index.open(…, version=…)` can still read, the oldest first; none if the
        store keeps only the latest."""
        return list(self._store.versions()) if isinstance(self._store, Versioned) else []

    def missing_shards(self) -> list[str]:
        """The shards that the last answer was given without; none, unless the index is a set of
        shards that was opened with `?partial=1`, as others fail then."""
        return list(self._store.missing()) if isinstance(self._store, Sharded) else []

    def file_of(self, document: str) -> str:
        """The path of a document's file; of one that was added from memory, its name."""
        return os.path.join(self.root, document)

    def file_is_gone(self, document: str) -> bool:
        """Whether a document's file no longer exists; what was added from memory has none."""
        path = self.file_of(document)
        return os.path.isabs(path) and is_gone(path)

    def is_up_to_date(self, document: str) -> bool:
        """Whether a file is still as it was indexed; PageError if it is gone or can't be read."""
        path = self.file_of(document)
        try:
            with Path(path).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").digest()
        except FileNotFoundError:
            remedy = f"put it back, or take it out: docpruner delete {self.location} {document}"
            where = printable_path(path)
            raise PageError(where, "is gone since it was indexed", remedy) from None
        except OSError as error:
            raise unreachable(path, error) from None
        with self._store.reader() as reader:
            known = reader.known(document, sha256)
        return known is not None and known.same

    # ------------------------------------------------------------------ adding and removing

    def add(
        self,
        paths: Paths,
        *,
        ocr: Ocr | None = None,
        metadata: GivenMetadata | None = None,
        delete_missing: bool = False,
        strict: bool = False,
        wait: float = WAIT,
        progress: ProgressCallback | None = None,
        workers: PageWorkers | None = None,
    ) -> AddReport:
        """Bring the index up to date with files and folders.

        Unchanged documents are skipped, changed ones replaced at once when all their pages are in,
        moved ones keep their vectors under the new path.

        paths: a PDF, PNG, JPEG, TIFF or WebP file, a folder of them, or several; with `workers`
            also URLs of them, such as s3://bucket/reports.
        ocr: recognise the words of pages that have none (extra `ocr`): None if it is installed and
            the encoder reads words; True also of pages that are in without words. "rus", or
            "rus+eng", is True with the program tesseract, in these languages of it.
        metadata: kept with the documents, to filter by: a mapping for all of them, mappings by
            path, a function of the path, or a CSV file whose first column is the path. It is
            added to what a document has; None as a value removes a key.
        delete_missing: remove documents below the given folders whose files no longer exist;
            otherwise the report only lists them as `missing`.
        strict: raise AddError if anything could not be added, not only if nothing was.
        wait: seconds to wait for another writer.
        progress: gets the report so far, batch by batch.
        workers: read, encode and prune the pages in place of this process, such as those of
            `docpruner.integrations.ray.RayWorkers`.
        """
        source: Source
        encoder, elsewhere, given = None, None, _listed(paths)
        if workers is not None:
            elsewhere = WorkElsewhere(workers, self._loader())
            source = unread_source(given, self.root, follow=True)
        elif any(map(is_url, given)):
            raise DocPrunerError("files at URLs are read by workers only; see --ray")
        else:
            encoder = self.encoder
            reads_words = encoder.reads == "words"
            source = FileSource(
                given,
                pixels=encoder.pixels,
                words=reads_words or self.settings.text,
                ocr=uses_ocr(ocr, reads_words=reads_words),
                root=self.root,
            )
        return self._add(
            source,
            encoder,
            ocr=ocr,
            metadata=metadata,
            delete_missing=delete_missing,
            strict=strict,
            wait=wait,
            progress=progress,
            elsewhere=elsewhere,
        )

    def add_images(
        self,
        images: Image | Iterable[Image],
        *,
        names: Iterable[str] | None = None,
        ocr: Ocr | None = None,
        metadata: GivenMetadata | None = None,
        strict: bool = False,
        wait: float = WAIT,
        progress: ProgressCallback | None = None,
    ) -> AddReport:
        """Add pictures that are in memory, each as a document of one page.

        images: PIL images.
        names: of the documents; without them a picture is named by its content. The index keeps no
            pictures: `hit.document` is the name by which you find yours again.
        ocr: recognise their words (extra `ocr`); as in `add`.
        metadata, strict, wait, progress: as in `add`.
        """
        given = [images] if hasattr(images, "tobytes") else images
        recognised = uses_ocr(ocr, reads_words=self.encoder.reads == "words")
        source = ImageSource(given, names, ocr=recognised)  # type: ignore[arg-type]  # seen before
        return self.add_from(
            source, ocr=ocr or False, metadata=metadata, strict=strict, wait=wait, progress=progress
        )

    def add_embeddings(
        self,
        pages: PageEmbedding | Iterable[PageEmbedding],
        *,
        metadata: GivenMetadata | None = None,
        strict: bool = False,
        wait: float = WAIT,
        progress: ProgressCallback | None = None,
    ) -> AddReport:
        """Add pages that were encoded elsewhere, by the encoder of this index.

        pages: a page named `report.pdf#3` is page 3 of report.pdf, any other a document of one
            page; the pages of a document follow each other. They may come from a generator.
        metadata, strict, wait, progress: as in `add`.
        """
        source = EmbeddingSource([pages] if isinstance(pages, PageEmbedding) else pages)
        return self.add_from(
            source, metadata=metadata, strict=strict, wait=wait, progress=progress, encode=False
        )

    def add_from(
        self,
        source: Source,
        *,
        ocr: Ocr = False,
        metadata: GivenMetadata | None = None,
        delete_missing: bool = False,
        strict: bool = False,
        wait: float = WAIT,
        progress: ProgressCallback | None = None,
        encode: bool = True,
    ) -> AddReport:
        """Add documents of any `docpruner.pages.sources.Source`, and close it.

        encode: False if all pages come with their embeddings, so that no encoder is needed.
        The others are those of `add`; `ocr` asks again for pages in which no words were found.
        """
        return self._add(
            source,
            self.encoder if encode else None,
            ocr=ocr,
            metadata=metadata,
            delete_missing=delete_missing,
            strict=strict,
            wait=wait,
            progress=progress,
        )

    def _add(
        self,
        source: Source,
        encoder: Encoder | None,
        *,
        ocr: Ocr | None,
        metadata: GivenMetadata | None,
        delete_missing: bool,
        strict: bool,
        wait: float,
        progress: ProgressCallback | None,
        elsewhere: WorkElsewhere | None = None,
    ) -> AddReport:
        report = add_documents(
            self._store,
            source,
            encoder,
            ocr=ocr,
            metadata=metadata_of(metadata),
            delete_missing=delete_missing,
            wait=wait,
            progress=progress,
            elsewhere=elsewhere,
        )
        if report.pages:
            self._update_first_stage(wait)
        if report.outcome == "none" or (strict and report.problems):
            raise AddError(report.problems, report)
        return report

    def _loader(self) -> Callable[[], Encoder]:
        """Loads the encoder, or brings the one that was given, in another process."""
        if self._given is not None:
            return partial(_itself, self._given)
        return partial(self._model_options.load, self.settings.encoder)

    def update_metadata(
        self, documents: str | Sequence[str], metadata: Metadata, *, wait: float = WAIT
    ) -> list[str]:
        """Add metadata to documents, without encoding anything; returns the names of those changed.

        documents: globs, as in `search`.
        metadata: is added to what a document has; None as a value removes a key.
        """
        globs = _globs(documents)
        given = metadata_of(metadata)
        assert given is not None
        with self._store.writer(wait) as writer:
            with self._store.reader() as reader:
                entries = {entry.name: entry.metadata for entry in reader.documents()}
            changed = {}
            for name in matching(entries, globs):
                both = {**entries[name], **(given(name) or {})}
                merged = {key: value for key, value in both.items() if value is not None}
                if merged != entries[name]:
                    changed[name] = merged
            writer.set_metadata(changed)
        return list(changed)

    def delete(
        self, globs: str | Sequence[str], *, dry_run: bool = False, wait: float = WAIT
    ) -> list[str]:
        """Remove the documents that fit any of the globs; returns their names.

        A document that is called exactly as a glob is what that glob means. With `dry_run`, only
        says which would go.
        """
        patterns = _globs(globs)

        def meant() -> list[str]:
            with self._store.reader() as reader:
                return matching(reader.names(), patterns)

        if dry_run:
            return meant()
        with self._store.writer(wait) as writer:
            names = meant()
            writer.delete(names)
        return names

    # ------------------------------------------------------------------ search

    def search(
        self,
        query: str | None = None,
        k: int = 10,
        *,
        vectors: npt.ArrayLike | None = None,
        image: Image | None = None,
        ocr: Ocr = False,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        exact: bool = False,
        mode: Mode = "vectors",
    ) -> list[Hit]:
        """The `k` best pages for a query, the best first.

        query: what to look for; or instead of it
        vectors: (tokens, dim) of a query that was encoded elsewhere, or
        image: a picture of a page, or of a part of it, to find pages like it, with an encoder that
            reads pixels.
        ocr: search by the words that are recognised on the image instead of by what it looks like
            (extra `ocr`, or "rus+eng" by tesseract): that is for an encoder that reads words.
        documents: only those that fit one of these globs (a name, the last parts of a path, or all
            of it; `*` goes across folders).
        pages: only from the first to the last of these numbers; None as the last is the end.
        metadata: only documents that have these values.
        exact: score every page. An index of many pages otherwise chooses those that are worth it
            by its first stage, and may miss one in a hundred of the best (see `tune`).
        mode: "vectors" compares what the encoder made of the pages, "text" looks for the words of
            the query in the words of the pages (BM25), "hybrid" goes by both. The score of a hit is
            the sum over the query's words of their similarities, the BM25 score, or the two
            together in deviations from their means: it compares pages of one search and no others.
        """
        if image is not None and ocr is not False:
            query, image = _words_on(image, ocr), None
        question = self._question(query, vectors, image)
        which = Filter(_globs(documents), pages, metadata)
        return find(self._store, [question], k, which, exact=exact, mode=mode, files=self._files)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        exact: bool = False,
        mode: Mode = "vectors",
    ) -> list[list[Hit]]:
        """As `search`, for many queries in one pass over the index."""
        which = Filter(_globs(documents), pages, metadata)
        asked = self._questions(queries)
        return find(self._store, asked, k, which, exact=exact, mode=mode, files=self._files)

    def hit(self, query: str, document: str, number: int) -> Hit | None:
        """What one page has to say to a query; None if it is not in the index."""
        asked = self._questions([query])
        name = PageName(document, number)
        (hits,) = find(self._store, asked, 1, among=[[name]], files=self._files)
        return hits[0] if hits else None

    def _questions(self, queries: Sequence[str]) -> list[Question]:
        encoder = self.encoder
        with self._encoding:
            return questions(encoder, queries)

    def _question(
        self, query: str | None, vectors: npt.ArrayLike | None, image: Image | None
    ) -> Question:
        if sum(given is not None for given in (query, vectors, image)) != 1:
            raise ScoringError("give one of query, vectors and image to search by")
        if query is not None:
            return self._questions([query])[0]
        if vectors is not None:
            return Question.of(np.asarray(vectors, np.float32))
        assert image is not None
        if self.encoder.reads != "pixels":
            raise EncoderError(
                f"{self.encoder.name} reads words only; searching by image needs an encoder that "
                "sees, such as vidore/colqwen2.5-v0.2. With ocr=True (--ocr), the words on the "
                "image are searched for"
            )
        encoder = self.encoder
        with self._encoding:
            (page,) = encoder.encode_pages([image.convert("RGB")])
        return Question.of(page.vectors)

    # ------------------------------------------------------------------ maintenance

    def prune(
        self,
        spec: str | None = None,
        *,
        codec: CodecName | None = None,
        budget: str | int | None = None,
        dry_run: bool = False,
        wait: float = WAIT,
        progress: Progress | None = None,
    ) -> Pruned:
        """Make what is stored smaller, without encoding any page again: all of it, or nothing.

        spec: a stricter reduction, such as a larger k, or the index's own with more stages.
        codec: another way to store vectors; what it rounds away is gone.
        budget: instead of both, what the index may take on disk, now and when more is added: "2GB",
            "4kB/page". It is given the mildest of the `budget_choices` that fits; a BudgetError
            says the least possible size. "none" lifts the budget, and changes nothing else.
        dry_run: only say what would be left.
        wait: seconds to wait for another writer.
        progress: told how many pages are done, and of how many.
        """
        pruned = self._pruned(spec, codec, budget, dry_run, wait, progress)
        if not dry_run:
            self._update_first_stage(wait, progress)
        return pruned

    def _pruned(
        self,
        spec: str | None,
        codec: CodecName | None,
        budget: str | int | None,
        dry_run: bool,
        wait: float,
        progress: Progress | None,
    ) -> Pruned:
        if budget is None:
            return prune(
                self._store, spec, codec=codec, dry_run=dry_run, wait=wait, progress=progress
            )
        if spec is not None or codec is not None:
            raise BudgetError("give a budget, or a spec and a codec: a budget chooses both")
        if budget == NO_BUDGET:
            if not dry_run:
                self._set_budget(None, wait)
            return prune(self._store, wait=wait)
        return prune_to(
            self._store, Budget.read(budget), dry_run=dry_run, wait=wait, progress=progress
        )

    def budget_choices(self, budget: str | int | None = None) -> list[Choice]:
        """The settings that a budget is met by, the mildest first: the index as it is, then all
        that it can still be given, each with its size and what it costs where that was measured.

        budget: says of each choice whether it `fits`; `prune` takes the first that does.
        """
        return listed_choices(self._store, None if budget is None else Budget.read(budget))

    def _set_budget(self, budget: Budget | None, wait: float = WAIT) -> None:
        text = "" if budget is None else str(budget)
        if text != self.settings.budget:
            with self._store.writer(wait) as writer:
                writer.set_budget(text)

    def copy_to(
        self,
        location: Location,
        *,
        spec: str | None = None,
        codec: CodecName | None = None,
        delete_missing: bool = False,
        wait: float = WAIT,
        progress: Progress | None = None,
    ) -> CopyReport:
        """Copy the index into another store, which is made, or brought up to date if it is there.

        Every page is read back and compared with what was written. A copy that was stopped goes on
        where it was when it is made again.

        location: as in `create`; an index there must have this one's encoder, and its spec and
            codec unless you give others.
        spec, codec: give the copy a stricter reduction or another codec, as `prune` would.
        delete_missing: remove documents from the copy that this index does not have; otherwise the
            report only lists them as `missing`. So several indexes can be copied into one.
        wait: seconds to wait for another writer of the copy.
        progress: told how many pages are done and of how many, while this index is verified, then
            while it is copied.
        """
        return copy_index(
            self._store,
            location,
            spec=spec,
            codec=codec,
            root=_stored_root(location, self.root or None),
            delete_missing=delete_missing,
            wait=wait,
            progress=progress,
        )

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: ExportFormat,  # noqa: A002  # as one says it
        vectors: VectorNumbers = "float32",
        force: bool = False,
        progress: Progress | None = None,
    ) -> Exported:
        """Write all pages to a file, for a search engine that is no store of ours.

        path: of the file, which is there when it is whole.
        format: "parquet" (extra `lance`), "jsonl", or "vespa" for what Vespa is fed with.
        vectors: "float32", "int8" with one scale for all, or "bits", signs, eight to a byte.
        force: overwrite a file that is there.
        progress: told how many pages are done and of how many.
        """
        return export_index(
            self._store, path, format=format, vectors=vectors, force=force, progress=progress
        )

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> int:
        """Give back the room of deleted and replaced pages; returns the bytes freed.

        The first stage of a large index is renewed if it is damaged or has become old. A store that
        keeps versions may give room back only when nobody can be reading the old ones any more.
        """
        before = self.stats().bytes_on_disk
        if isinstance(self._store, Compactable):
            self._store.compact(wait=wait, progress=progress)
        self._update_first_stage(wait, progress)
        return max(0, before - self.stats().bytes_on_disk)

    def first_stage(self) -> FirstStageState | None:
        """The first stage, by which a search chooses the pages that it scores; None if there is
        none, as in small indexes, where every page is scored."""
        return self._store.first_stage() if isinstance(self._store, Staged) else None

    def renew_first_stage(
        self, *, wait: float = WAIT, progress: Progress | None = None
    ) -> FirstStageState | None:
        """Train the first stage anew, also that of a small index. Searches go on meanwhile."""
        if not isinstance(self._store, Staged):
            raise IndexStateError(f"{self.location} has no first stage of ours to renew")
        self._store.update_first_stage(renew=True, wait=wait, progress=progress)
        return self._store.first_stage()

    def tune(
        self,
        queries: Sequence[str] = (),
        *,
        target: float = 0.99,
        made: int = 50,
        wait: float = WAIT,
        progress: Progress | None = None,
    ) -> Tuning:
        """Measure what searches by the first stage find of the exact ten best pages, and choose
        the fewest candidates that find `target` of them.

        queries: real ones, the more the better; `made` more are made from pages of the index.
        """
        if not isinstance(self._store, Staged) or self._store.first_stage() is None:
            raise IndexStateError(
                f"{self.location} has no first stage to tune: all its pages are scored in every "
                "search, which is exact"
            )
        asked = [question.vectors for question in self._questions(queries)]
        tuning = measured(self._store, asked, made, target, progress)
        self._store.tune_first_stage(tuning, wait=wait)
        return tuning

    def _update_first_stage(self, wait: float, progress: Progress | None = None) -> None:
        if isinstance(self._store, Staged):
            self._store.update_first_stage(wait=wait, progress=progress)

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        """Compare every byte with its checksum.

        Damaged pages are taken out of the index, unless `isolate` is false; the next `add` of
        their documents encodes them again. A damaged catalogue is a DamagedIndexError.
        """
        if not isinstance(self._store, Verifiable):
            raise IndexStateError(f"{self.location} has no checksums of its own to verify")
        return self._store.verify(isolate=isolate, wait=wait, progress=progress)


def _itself(encoder: Encoder) -> Encoder:
    return encoder


def _one_of(reduction: str | Reducer | None, spec: str | None) -> str | Reducer | None:
    if reduction is not None and spec is not None:
        raise IndexStateError("reduction and spec are the same; give one of the two")
    return spec if reduction is None else reduction


def preferred_codec(encoder: Encoder) -> CodecName:
    """How a new index stores the vectors of an encoder that may have a `codec` of its own."""
    codec: CodecName = getattr(encoder, "codec", DEFAULT_CODEC)
    return codec


def _words_on(image: Image, ocr: Ocr) -> str:
    words = recognised_words(image, uses_ocr(ocr, reads_words=True))
    if not words:
        raise ScoringError("no words were recognised on the image; search by words of your own")
    return " ".join(word.text for word in words)


def _at_version(store: Store, version: int) -> Store:
    with store:
        if not isinstance(store, Versioned):
            raise IndexStateError(
                f"{store.location} keeps no older versions; open it without one (lance://… keeps "
                "them)"
            )
        return store.at(version)


def _stored_root(location: Location, root: str | os.PathLike[str] | None) -> str:
    """As it is saved: from the folder of the index, so that both can be moved together."""
    if root is None:
        return ""
    absolute = os.path.abspath(root)
    if location is None or "://" in os.fspath(location):
        return absolute
    return os.path.relpath(absolute, os.path.abspath(location))


def _options(
    given: ModelOptions | None, device: str | None, trust_remote_code: bool
) -> ModelOptions:
    options = given or ModelOptions()
    if device is not None:
        options = replace(options, device=device)
    return replace(options, trust_remote_code=trust_remote_code or options.trust_remote_code)


def _names(given: str, own: str) -> bool:
    """Whether an index's encoder goes by this name; either may leave out the commit."""
    from docpruner.encoders.registry import EncoderName

    if given == own:  # also where it is no name that we could read
        return True
    asked, there = EncoderName.read(given), EncoderName.read(own)
    if asked.checkpoint == "builtin":
        return there.is_builtin
    return asked.agrees_with(there)


def _globs(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _listed(paths: Paths) -> list[str]:
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    listed = [os.fspath(path) for path in given]
    if not all(listed):
        raise PageError("(empty)", "an empty path names nothing", "give a file or a folder")
    return listed
