"""What an agent is given, as the tools' output schemas describe it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

Document = Annotated[str, Field(description="Its name; give it to the other tools as it is.")]
File = Annotated[
    str | None, Field(description="The document's file, if the server shares your file system.")
]
Uri = Annotated[str, Field(description="The page's text as a resource; add /image for a picture.")]


class AgentHit(BaseModel):
    document: Document
    page: int
    score: float
    snippet: Annotated[str, Field(description="Text around what matches best; empty if none.")]
    boxes: Annotated[
        list[list[float]],
        Field(
            description="Where it matches, the best first: x0, y0, x1, y1 as fractions of the page"
            " from its top left corner."
        ),
    ]
    metadata: dict[str, JsonValue]
    uri: Uri
    file: File


class SearchResult(BaseModel):
    hits: Annotated[list[AgentHit], Field(description="The best pages, the best first.")]
    note: Annotated[str, Field(description="What to know of these hits; mostly empty.")] = ""


class PageTextResult(BaseModel):
    document: Document
    page: int
    pages: Annotated[int, Field(description="That the document has.")]
    text: Annotated[str, Field(description="Line by line; empty for a page without words.")]
    note: str = ""
    uri: Uri
    file: File


class AgentDocument(BaseModel):
    document: Document
    pages: int
    metadata: dict[str, JsonValue]
    file: File


class DocumentsResult(BaseModel):
    total: Annotated[int, Field(description="Documents that match.")]
    documents: list[AgentDocument]


class IndexStats(BaseModel):
    name: str
    documents: int
    pages: int
    pages_with_text: Annotated[int, Field(description="Whose words are stored.")]
    pages_without_words: int
    encoder: str
    spec: Annotated[str, Field(description="How pages are pruned.")]
    codec: str
    pruned: Annotated[float, Field(description="Share of all patches, 0 to 1.")]
    bytes_on_disk: int
    bytes_unpruned_float16: int


class AddResult(BaseModel):
    documents: Annotated[
        dict[str, int], Field(description="How many were added, replaced, unchanged, …")
    ]
    pages: Annotated[int, Field(description="Added by this call.")]
    problems: Annotated[list[str], Field(description="What could not be added, and why.")]


class DeleteResult(BaseModel):
    deleted: Annotated[list[str], Field(description="Taken out; their files stay on the disk.")]
