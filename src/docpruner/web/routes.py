"""The routes that only look."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi import Path as PathPart
from starlette.responses import FileResponse, Response

from docpruner.explain import WhatIf
from docpruner.search.filters import read_metadata, read_pages
from docpruner.web.files import original_file
from docpruner.web.library import Question
from docpruner.web.look import described_page, described_reduction, page_drawing
from docpruner.web.problems import Refused, described
from docpruner.web.service import Service
from docpruner.web.shapes import (
    DocumentList,
    Health,
    IndexStats,
    PageShape,
    ReductionShape,
    SearchAnswer,
)

routes = APIRouter(prefix="/api")

LONGEST_QUERY, LONGEST_SPEC, LONGEST_FILTER = 1000, 300, 200
LARGEST_NUMBER = 1_000_000_000


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Held = Annotated[Service, Depends(service_of)]
DocumentId = Annotated[int, PathPart(ge=1, le=LARGEST_NUMBER)]
PageNumber = Annotated[int, PathPart(ge=1, le=LARGEST_NUMBER)]
Spec = Annotated[str, Query(min_length=1, max_length=LONGEST_SPEC, examples=["docpruner:k=0.5"])]
Responses = dict[int | str, dict[str, Any]]
Short = Annotated[str, Query(max_length=LONGEST_FILTER)]
PICTURE: Responses = {
    200: {"content": {"image/webp": {}}, "description": "The page."},
    304: {"description": "As it was."},
}
FILE: Responses = {200: {"content": {"*/*": {}}, "description": "The file as it is."}}


@routes.get("/health", responses=described())
async def health() -> Health:
    return Health(status="ok", version=version("docpruner"))


@routes.get("/stats", responses=described())
async def stats(held: Held) -> IndexStats:
    options = held.options
    return await held.lanes.light.run(
        lambda: held.library.stats(
            changes_allowed=options.allow_changes,
            max_upload=options.max_upload,
            max_files=options.max_files,
        )
    )


@routes.get("/documents", responses=described())
async def documents(held: Held) -> DocumentList:
    return DocumentList(documents=await held.lanes.light.run(held.library.documents))


@routes.get("/search", responses=described())
async def search(
    held: Held,
    q: Annotated[str, Query(min_length=1, max_length=LONGEST_QUERY)],
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    document: Annotated[str | None, Query(min_length=1, max_length=LONGEST_FILTER)] = None,
    pages: Annotated[
        str | None, Query(pattern=r"^\d{1,9}$|^\d{1,9}-\d{0,9}$|^-\d{1,9}$", examples=["3-10"])
    ] = None,
    metadata: Annotated[list[Short] | None, Query(max_length=10, examples=[["year=2024"]])] = None,
    words: bool = True,
) -> SearchAnswer:
    """The best pages. With `words=false` sooner, but without the words that `matched` tells."""
    if not q.strip():
        raise Refused(422, "q: the query is empty")
    question = Question(q, k, document, read_pages(pages), read_metadata(metadata))
    return await held.lanes.search.run(lambda: held.library.search(question, words=words))


@routes.get("/pages/{document}/{number}", responses=described(404))
async def page(held: Held, document: DocumentId, number: PageNumber) -> PageShape:
    return await held.lanes.light.run(lambda: described_page(held.library, document, number))


@routes.get(
    "/pages/{document}/{number}/image",
    response_class=Response,
    responses={**PICTURE, **described(404)},
)
async def image(
    held: Held,
    document: DocumentId,
    number: PageNumber,
    width: Annotated[int, Query(ge=64, le=2000)] = 900,
    overlay: Literal["kept", "match"] | None = None,
    q: Annotated[str | None, Query(min_length=1, max_length=LONGEST_QUERY)] = None,
    word: Annotated[int | None, Query(ge=0, le=LONGEST_QUERY)] = None,
    if_none_match: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """The page as it looks; `overlay` shows what was kept of it, or what answers `q`."""

    def work() -> Response:
        drawing = page_drawing(held.library, document, number, width, overlay, q, word)
        tag = drawing.tag()
        headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache"}
        if if_none_match is not None and tag in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(held.drawings.draw(drawing, tag), 200, headers, "image/webp")

    return await held.lanes.pictures.run(work)


@routes.get(
    "/pages/{document}/{number}/original",
    response_class=FileResponse,
    responses={**FILE, **described(404)},
)
async def original(held: Held, document: DocumentId, number: PageNumber) -> FileResponse:
    """The file that the page is from."""
    return await held.lanes.light.run(lambda: original_file(held.library, document, number))


@routes.get("/pages/{document}/{number}/reduction", responses=described(404))
async def reduction(
    held: Held, document: DocumentId, number: PageNumber, spec: Spec
) -> ReductionShape:
    """What a spec would keep of the page, from its stored importances."""
    return await held.lanes.light.run(
        lambda: described_reduction(held.library, document, number, spec)
    )


@routes.get("/whatif", responses=described())
async def whatif(held: Held, spec: Spec) -> WhatIf:
    """What a spec would keep of the whole index, from its stored importances."""
    return await held.lanes.sums.run(lambda: held.whatifs.answer(spec))
