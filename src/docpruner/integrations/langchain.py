"""Pages as LangChain's `Document`s.

retriever = DocPrunerRetriever(index="my.idx", k=4)
retriever.invoke("What does it cost to lease the cargo bike?")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from docpruner.errors import MissingExtraError
from docpruner.integrations.searchable import PICTURE_TYPE, PICTURE_WIDTH, FoundPage, opened
from docpruner.types import Mode

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, field_validator
except ImportError as error:
    raise MissingExtraError("the LangChain retriever", "langchain") from error


class DocPrunerRetriever(BaseRetriever):
    """Searches an index; a page becomes a document: its text, and in the metadata the document,
    the page, the score, the boxes that match, and what else is known of the document.

    index: an `Index` or a `Client`, or a location to open: a folder, `scheme://…`, `http://…`.
    k: how many pages.
    documents, pages, metadata_filter, mode: as `documents`, `pages`, `metadata` and `mode` of
        `Index.search`.
    pictures: the page as PNG in base64 too, as `image` in the metadata, `picture_width` wide.

    `ainvoke`, `batch` and `abatch` search in threads.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    index: Any
    k: int = 4
    documents: str | Sequence[str] = ()
    pages: tuple[int, int | None] | None = None
    metadata_filter: Mapping[str, Any] | None = None
    mode: Mode = "vectors"
    pictures: bool = False
    picture_width: int = PICTURE_WIDTH

    @field_validator("index", mode="before")
    @classmethod
    def _opened(cls, index: Any) -> Any:
        if isinstance(index, str | os.PathLike) or hasattr(index, "search"):
            return opened(index)
        raise ValueError(f"{index!r} is no index, no client and no location of one")

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        hits = self.index.search(
            query,
            self.k,
            documents=self.documents,
            pages=self.pages,
            metadata=self.metadata_filter,
            mode=self.mode,
        )
        found = (FoundPage.of(hit, picture=self.pictures, width=self.picture_width) for hit in hits)
        return [_document(page) for page in found]


def _document(page: FoundPage) -> Document:
    metadata = page.metadata
    if page.picture is not None:
        metadata |= {"image": page.base64, "image_type": PICTURE_TYPE}
    return Document(id=page.name, page_content=page.text, metadata=metadata)
