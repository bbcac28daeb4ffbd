"""Pages as LlamaIndex's nodes.

retriever = DocPrunerRetriever("my.idx", k=4)
retriever.retrieve("What does it cost to lease the cargo bike?")
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from docpruner.errors import MissingExtraError
from docpruner.integrations.searchable import (
    PICTURE_TYPE,
    PICTURE_WIDTH,
    FoundPage,
    PageRange,
    Searchable,
    opened,
)
from docpruner.types import Metadata, Mode

try:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        ImageNode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
except ImportError as error:
    raise MissingExtraError("the LlamaIndex retriever", "llama-index") from error

NOT_FOR_MODELS = ["boxes", "score", "problem"]  # keys of the metadata


class DocPrunerRetriever(BaseRetriever):
    """Searches an index; a page becomes a text node, and with `pictures` an image node after it.

    Both have in their metadata the document, the page, the score, the boxes that match, and what
    else is known of the document; the latter three are not shown to models.
    """

    def __init__(
        self,
        index: Searchable | str | os.PathLike[str],
        *,
        k: int = 4,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        mode: Mode = "vectors",
        pictures: bool = False,
        picture_width: int = PICTURE_WIDTH,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """index: an `Index` or a `Client`, or a location to open: a folder, `scheme://…`,
            `http://…`.
        k: how many pages.
        documents, pages, metadata, mode: as in `Index.search`.
        pictures: the pages as PNG too, `picture_width` wide.
        """
        super().__init__(callback_manager=callback_manager)
        self.index = opened(index)
        self.k, self.documents, self.pages, self.metadata = k, documents, pages, metadata
        self.mode, self.pictures, self.picture_width = mode, pictures, picture_width

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.index.search(
            query_bundle.query_str,
            self.k,
            documents=self.documents,
            pages=self.pages,
            metadata=self.metadata,
            mode=self.mode,
        )
        found = (FoundPage.of(hit, picture=self.pictures, width=self.picture_width) for hit in hits)
        return [
            NodeWithScore(node=node, score=page.hit.score)
            for page in found
            for node in _nodes(page)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _nodes(page: FoundPage) -> list[TextNode]:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=page.hit.document)}
    text = TextNode(
        id_=page.name,
        text=page.text,
        metadata=page.metadata,
        relationships=source,
        excluded_llm_metadata_keys=NOT_FOR_MODELS,
        excluded_embed_metadata_keys=NOT_FOR_MODELS,
    )
    if page.picture is None:
        return [text]
    image = ImageNode(
        id_=f"{page.name} (picture)",
        image=page.base64,
        image_mimetype=PICTURE_TYPE,
        metadata=page.metadata,
        relationships=source,
        excluded_llm_metadata_keys=NOT_FOR_MODELS,
        excluded_embed_metadata_keys=NOT_FOR_MODELS,
    )
    return [text, image]
