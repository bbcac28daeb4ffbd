"""An index behind `docpruner serve`, used as one that is at hand."""

from __future__ import annotations

import io
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from docpruner.client.connection import Connection
from docpruner.client.remote_page import hit_of
from docpruner.client.upload_form import upload_form
from docpruner.errors import AddError, FilterError, PageError, ScoringError, ServerError
from docpruner.hits import Hit
from docpruner.pipeline.add_report import AddReport, ProgressCallback
from docpruner.search.filters import matching
from docpruner.stores.records import DocumentEntry, Stats
from docpruner.stores.settings import Settings
from docpruner.types import Metadata, Mode, as_text

if TYPE_CHECKING:
    from PIL.Image import Image

TIMEOUT = 60.0  # seconds
PAUSE = 0.2  # seconds between two looks at an upload
PICTURE_PIXELS = 4_000_000  # of one to search by: no encoder makes use of more

PageRange = tuple[int, int | None]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Client:
    """Searches an index that `docpruner serve` serves, by the methods of `Index`.

    Documents are named as the server shows them: by no more of their paths than tells them apart.
    Words and pictures of hits come from the server when they are asked for. Any thread may use it.
    What the server refuses is a ServerError with its words.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = TIMEOUT) -> None:
        """Nothing is sent yet.

        url: as the server prints it, `http://127.0.0.1:8000/`, with or without `#token=…`.
        token: by default what stands in the url, or else in the variable DOCPRUNER_TOKEN.
        timeout: seconds to wait for an answer.
        """
        if token is None and "#token=" not in url:
            token = os.environ.get("DOCPRUNER_TOKEN") or None
        self._connection = Connection(url, token, timeout)

    @property
    def location(self) -> str:
        """Its address, without the token."""
        return self._connection.url

    def __repr__(self) -> str:
        return f"Client({self.location!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is left open; it is here so that it can stand where an `Index` does."""

    # ------------------------------------------------------------------ search

    def search(
        self,
        query: str | None = None,
        k: int = 10,
        *,
        image: Image | None = None,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        exact: bool = False,
        mode: Mode = "vectors",
    ) -> list[Hit]:
        """The `k` best pages for a query, the best first; see `Index.search` for the arguments.

        The server gives up to 100 pages; queries may have 1,000 characters.
        """
        if (query is None) == (image is None):
            raise ScoringError("give one of query and image to search by")
        if k < 1:
            raise ScoringError(f"k={k} must be at least 1")
        asked = _narrowed(k, documents, pages, metadata, exact)
        if image is not None:
            if mode != "vectors":
                raise ScoringError("a search by text needs a query in words, not a picture")
            told = self._connection.post("search/image", _packed(image), asked, "image/png")
        else:
            words = [("q", str(query)), ("mode", mode), ("words", "false")]
            told = self._connection.get("search", [*words, *asked])
        return [hit_of(hit, query or "", self._connection) for hit in told["hits"]]

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
        """As `search`, for one query after another."""
        if isinstance(queries, str):
            raise ScoringError(
                f"search_many takes a list of queries; for one, call search({queries!r})"
            )
        return [
            self.search(
                query,
                k,
                documents=documents,
                pages=pages,
                metadata=metadata,
                exact=exact,
                mode=mode,
            )
            for query in queries
        ]

    def hit(self, query: str, document: str, number: int) -> Hit | None:
        """What one page has to say to a query; None if it is not in the index."""
        try:
            told = self._connection.get(
                f"pages/{self._id_of(document)}/{number}/hit", [("q", query)]
            )
        except ServerError as error:
            if error.status == 404:
                return None
            raise
        return hit_of(told, query, self._connection)

    # ------------------------------------------------------------------ what it is

    def documents(self) -> list[DocumentEntry]:
        """All documents with their pages and metadata, by name. What their files hash to is not
        told."""
        return [
            DocumentEntry(told["name"], told["pages"], told["metadata"], b"")
            for told in self._listed()
        ]

    def stats(self) -> Stats:
        """What the index holds, what it takes, and what it would take unpruned."""
        told = self._connection.get("stats")
        settings = Settings(**_known(Settings, told["settings"]))
        return Stats(**_known(Stats, told) | {"settings": settings})

    def _listed(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._connection.get("documents")["documents"]
        return listed

    def _id_of(self, document: str) -> str:
        ids = {told["name"]: told["id"] for told in self._listed()}
        (name,) = matching(ids, [document])[:1] or [""]
        return str(ids.get(name, "0" * 16))  # the server has none of that id, and says so

    # ------------------------------------------------------------------ changes

    def add(self, paths: Paths, *, progress: ProgressCallback | None = None) -> AddReport:
        """Send files to the server (`--allow-changes`), and wait until they are indexed.

        paths: a PDF, PNG, JPEG, TIFF or WebP file, or several; all of them go in one upload, so
            their size together is limited by the server.
        progress: gets the report so far.
        An AddError says that nothing could be added, as `Index.add` does.
        """
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        body, kind = upload_form([os.fspath(path) for path in given])
        job = self._connection.post("documents", body, kind=kind)["job"]
        while True:
            told = self._connection.get(f"jobs/{job}")
            report = _report(told)
            if progress is not None:
                progress(report)
            if told["state"] == "failed":
                raise ServerError(f"{self.location}: {told['error']}")
            if told["state"] == "done":
                if report.outcome == "none":
                    raise AddError(report.problems, report)
                return report
            time.sleep(PAUSE)

    def delete(self, globs: str | Sequence[str]) -> list[str]:
        """Take documents out of the index (`--allow-changes`); returns their names. The files stay
        where they are.

        globs: as in `Index.delete`.
        """
        ids = {told["name"]: told["id"] for told in self._listed()}
        names = matching(ids, [globs] if isinstance(globs, str) else globs)
        for name in names:
            self._connection.delete(f"documents/{ids[name]}")
        return names


def _narrowed(
    k: int,
    documents: str | Sequence[str],
    pages: PageRange | None,
    metadata: Metadata | None,
    exact: bool,
) -> list[tuple[str, str]]:
    asked = [("k", str(k)), ("exact", "true" if exact else "false")]
    globs = [documents] if isinstance(documents, str) else documents
    asked += [("document", glob) for glob in globs]
    if pages is not None:
        first, last = pages
        asked.append(("pages", f"{first}-{'' if last is None else last}"))
    for key, value in (metadata or {}).items():
        if "=" in key or (isinstance(value, Sequence) and not isinstance(value, str)):
            raise FilterError(
                f"metadata {key!r}: a server takes keys without = and single values, not {value!r}"
            )
        asked.append(("metadata", f"{key}={as_text(value)}"))
    return asked


def _packed(image: Image) -> bytes:
    picture = image.convert("RGB")
    share = (PICTURE_PIXELS / (picture.width * picture.height)) ** 0.5
    if share < 1:
        picture = picture.resize(
            (max(1, round(picture.width * share)), max(1, round(picture.height * share)))
        )
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return stream.getvalue()


def _known(kind: type[Stats] | type[Settings], told: dict[str, Any]) -> dict[str, Any]:
    """What of an answer is a field: a server may be newer than its client."""
    return {each.name: told[each.name] for each in fields(kind) if each.name in told}


def _report(told: dict[str, Any]) -> AddReport:
    problems = [
        PageError(problem["name"], problem["reason"], problem["remedy"], problem["page"])
        for problem in told["problems"]
    ]
    return AddReport(
        documents=Counter(told["documents"]),
        pages=told["pages"],
        problems=problems,
        share=told["share"],
    )
