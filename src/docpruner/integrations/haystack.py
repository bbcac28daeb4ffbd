"""Pages as Haystack's `Document`s.

    pipeline.add_component("retriever", DocPrunerRetriever("my.idx", top_k=4))

The path of the class stands in every pipeline saved with it: don't move it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from docpruner.errors import MissingExtraError
from docpruner.integrations.searchable import (
    PICTURE_TYPE,
    PICTURE_WIDTH,
    FoundPage,
    PageRange,
    Searchable,
    location_of,
    opened,
)
from docpruner.types import Metadata, Mode

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ByteStream
except ImportError as error:
    raise MissingExtraError("the Haystack retriever", "haystack") from error


@component
class DocPrunerRetriever:
    """Searches an index; a page becomes a document: its text, its picture as `blob` if asked for,
    and in `meta` the document, the page, the boxes that match, and what is known of the document.
    """

    def __init__(
        self,
        index: Searchable | str | os.PathLike[str],
        *,
        top_k: int = 10,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        mode: Mode = "vectors",
        pictures: bool = False,
        picture_width: int = PICTURE_WIDTH,
    ) -> None:
        """index: an `Index` or a `Client`, or a location: a folder, `scheme://…`, `http://…`. That
            is opened by `warm_up`, or with the first query; a server's token is read from the
            variable DOCPRUNER_TOKEN.
        top_k: how many pages.
        documents, pages, metadata, mode: as in `Index.search`.
        pictures: the pages as PNG too, `picture_width` wide.
        """
        self._location = ""
        self._index: Searchable | None = None
        if isinstance(index, str | os.PathLike):
            self._location = os.fspath(index)
        else:
            self._index = index
        self.top_k, self.documents, self.pages, self.metadata = top_k, documents, pages, metadata
        self.mode, self.pictures, self.picture_width = mode, pictures, picture_width

    def warm_up(self) -> None:
        self._opened()

    def _opened(self) -> Searchable:
        if self._index is None:
            self._index = opened(self._location)
        return self._index

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        documents: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """top_k, documents and metadata, if given, take the place of the retriever's own."""
        hits = self._opened().search(
            query,
            top_k or self.top_k,
            documents=self.documents if documents is None else documents,
            pages=self.pages,
            metadata=self.metadata if metadata is None else metadata,
            mode=self.mode,
        )
        found = (FoundPage.of(hit, picture=self.pictures, width=self.picture_width) for hit in hits)
        return {"documents": [_document(page) for page in found]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        top_k: int | None = None,
        documents: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """As `run`, in a thread."""
        return await asyncio.to_thread(self.run, query, top_k, documents, metadata)

    def to_dict(self) -> dict[str, Any]:
        """With the location of the index; neither what is in it nor a token."""
        return default_to_dict(
            self,
            index=self._location or location_of(self._opened()),
            top_k=self.top_k,
            documents=self.documents if isinstance(self.documents, str) else [*self.documents],
            pages=None if self.pages is None else [*self.pages],
            metadata=None if self.metadata is None else dict(self.metadata),
            mode=self.mode,
            pictures=self.pictures,
            picture_width=self.picture_width,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DocPrunerRetriever:
        return default_from_dict(cls, data)


def _document(page: FoundPage) -> Document:
    blob = None if page.picture is None else ByteStream(page.picture, mime_type=PICTURE_TYPE)
    meta = {key: value for key, value in page.metadata.items() if key != "score"}
    return Document(id=page.name, content=page.text, blob=blob, meta=meta, score=page.hit.score)
