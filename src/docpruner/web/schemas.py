"""What the API answers, as its OpenAPI document describes it."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BaseModel, Field, JsonValue

from docpruner.types import Metadata, Mode

BoxEdges = Annotated[list[float], Field(min_length=4, max_length=4)]
"""x0, y0, x1, y1 as fractions of the page, from its top left corner."""


def json_values(metadata: Metadata) -> dict[str, JsonValue]:
    """The same; only pydantic has a type of its own for it."""
    return cast(dict[str, JsonValue], dict(metadata))


class ErrorDetail(BaseModel):
    code: str
    message: str


class ErrorResponse(BaseModel):
    error: ErrorDetail


class HealthResponse(BaseModel):
    status: Literal["ok"]
    version: str


class IndexSettings(BaseModel):
    encoder: str
    dim: int
    spec: str
    codec: str
    importances: bool
    text: bool
    version: str
    budget: str


class StatsResponse(BaseModel):
    name: str
    documents: int
    pages: int
    missing_pages: int
    pages_without_words: int
    vectors: int
    vectors_unpruned: int
    bytes_on_disk: int
    bytes_of_vectors: int
    bytes_reclaimable: int
    bytes_unpruned_float16: int
    bytes_besides: int  # of all but the vectors, when compacted
    bytes_empty: int  # of those, what an index without pages takes too
    pruned: float
    pruned_by_page: dict[str, float]
    pruned_histogram: list[int]
    pages_with_text: int
    bytes_of_text: int
    row_bytes: int
    settings: IndexSettings
    changes_allowed: bool
    searches_pictures: bool  # whether its encoder looks at pictures, so that one can be the query
    max_upload: int  # bytes
    max_files: int  # of one upload


class DocumentResponse(BaseModel):
    id: str
    name: str
    pages: int
    metadata: dict[str, JsonValue]


class DocumentsResponse(BaseModel):
    documents: list[DocumentResponse]


class MatchedWord(BaseModel):
    query: str
    page: str


class MatchResponse(BaseModel):
    word: str
    score: float
    weight: float  # how much the word counts
    boxes: list[BoxEdges]
    found: list[str]  # words in these, if they were recognised on a picture


Mark = Annotated[list[int], Field(min_length=2, max_length=2)]
"""From, up to: Unicode characters of a text, from 0."""


class HitResponse(BaseModel):
    rank: int
    document: str
    name: str
    page: int
    width: float  # of the page: points of a PDF, pixels of an image
    height: float
    score: float
    metadata: dict[str, JsonValue]
    snippet: str  # text of the page around what matches best
    marks: list[Mark]  # the words of the snippet that match
    matched: list[MatchedWord]
    matches: list[MatchResponse]


class SearchResponse(BaseModel):
    query: str  # empty if it was a picture
    mode: Mode
    milliseconds: float
    nothing_matches: bool  # even the best page hardly does
    missing_shards: list[str]  # parts of the index that the answer was given without
    hits: list[HitResponse]


class WordResponse(BaseModel):
    text: str
    box: BoxEdges


class WordsResponse(BaseModel):
    words: list[WordResponse]  # in reading order


class PageResponse(BaseModel):
    document: str
    name: str
    page: int
    pages: int
    width: float
    height: float
    words_from: str
    patches: int
    kept_vectors: int  # stored, special tokens included
    vectors: int  # before reduction, special tokens included
    boxes: list[BoxEdges]  # of the patches
    importance: list[float] | None
    kept: list[int]  # of each patch: 1 if a stored vector came from it
    mean: float | None
    std: float | None
    entropy: float | None
    threshold: float | None


class ReductionResponse(BaseModel):
    spec: str
    kept: list[int]
    vectors: int
    bytes: int
    threshold: float | None


class ChoiceResponse(BaseModel):
    spec: str
    codec: str
    vectors: int
    bytes_of_vectors: int
    bytes: int  # on disk, when compacted
    ndcg_kept: float | None  # share of nDCG@5 where it was measured


class BudgetResponse(BaseModel):
    budget: str  # that the index keeps to; empty if there is none
    choices: list[ChoiceResponse]  # the index as it is, then ever smaller
    measured_on: str


class JobStartedResponse(BaseModel):
    job: str


class JobProblem(BaseModel):
    name: str
    page: int | None
    reason: str
    remedy: str


class JobResponse(BaseModel):
    state: Literal["running", "done", "failed"]
    share: float
    pages: int
    kept: float
    documents: dict[str, int]
    problems: list[JobProblem]
    error: str | None


class DeletedResponse(BaseModel):
    deleted: str
