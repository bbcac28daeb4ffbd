"""What the API answers, as its OpenAPI document describes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

BoxShape = Annotated[list[float], Field(min_length=4, max_length=4)]
"""x0, y0, x1, y1 as fractions of the page, from its top left corner."""


class Problem(BaseModel):
    code: str
    message: str


class ErrorAnswer(BaseModel):
    error: Problem


class Health(BaseModel):
    status: Literal["ok"]
    version: str


class IndexSettings(BaseModel):
    encoder: str
    dim: int
    spec: str
    codec: str
    importances: bool
    version: str


class IndexStats(BaseModel):
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
    pruned: float
    pruned_by_page: dict[str, float]
    pruned_histogram: list[int]
    row_bytes: int
    settings: IndexSettings
    changes_allowed: bool
    max_upload: int  # bytes
    max_files: int  # of one upload


class DocumentShape(BaseModel):
    id: int
    name: str
    pages: int
    metadata: dict[str, str]


class DocumentList(BaseModel):
    documents: list[DocumentShape]


class MatchedWord(BaseModel):
    query: str
    page: str


class MatchShape(BaseModel):
    word: str
    score: float
    boxes: list[BoxShape]


class HitShape(BaseModel):
    rank: int
    document: int
    name: str
    page: int
    score: float
    metadata: dict[str, str]
    matched: list[MatchedWord]
    matches: list[MatchShape]


class SearchAnswer(BaseModel):
    query: str
    milliseconds: float
    hits: list[HitShape]


class PageShape(BaseModel):
    document: int
    name: str
    page: int
    pages: int
    width: float
    height: float
    words_from: str
    patches: int
    kept_vectors: int  # stored, special tokens included
    vectors: int  # before reduction, special tokens included
    boxes: list[BoxShape]  # of the patches
    importance: list[float] | None
    kept: list[int]  # of each patch: 1 if a stored vector came from it
    mean: float | None
    std: float | None
    entropy: float | None
    threshold: float | None


class ReductionShape(BaseModel):
    spec: str
    kept: list[int]
    vectors: int
    bytes: int
    threshold: float | None


class JobStarted(BaseModel):
    job: str


class JobProblem(BaseModel):
    name: str
    page: int | None
    reason: str
    remedy: str


class JobShape(BaseModel):
    state: Literal["running", "done", "failed"]
    share: float
    pages: int
    kept: float
    documents: dict[str, int]
    problems: list[JobProblem]
    error: str | None


class Deleted(BaseModel):
    deleted: str
