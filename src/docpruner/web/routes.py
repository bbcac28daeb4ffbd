"""The routes that only look."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from docpruner.explain import WhatIf
from docpruner.types import Mode
from docpruner.web.dependencies import (
    DocumentId,
    PageNumber,
    TheDrawings,
    TheOptions,
    ThePictures,
    ThePools,
    TheReductions,
    TheView,
)
from docpruner.web.error_responses import Refused, described
from docpruner.web.file_responses import original_file
from docpruner.web.guard import takes_picture
from docpruner.web.page_views import page_drawing, page_response
from docpruner.web.picture_queries import save
from docpruner.web.schemas import (
    BudgetResponse,
    DocumentsResponse,
    HealthResponse,
    HitResponse,
    PageResponse,
    ReductionResponse,
    SearchResponse,
    StatsResponse,
    WordsResponse,
)
from docpruner.web.search_request import Only, SearchRequest
from docpruner.web.stats_view import stats_response

routes = APIRouter(prefix="/api")

LONGEST_QUERY, LONGEST_SPEC = 1000, 300

Asked = Annotated[str, Query(min_length=1, max_length=LONGEST_QUERY)]
Spec = Annotated[str, Query(min_length=1, max_length=LONGEST_SPEC, examples=["docpruner:k=0.5"])]
Responses = dict[int | str, dict[str, Any]]
PICTURE: Responses = {
    200: {"content": {"image/webp": {}}, "description": "The page."},
    304: {"description": "As it was."},
}
PICTURE_BODY: dict[str, Any] = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
FILE: Responses = {200: {"content": {"*/*": {}}, "description": "The file as it is."}}


@routes.get("/health", responses=described())
async def health() -> HealthResponse:
    return HealthResponse(status="ok", version=version("docpruner"))


@routes.get("/stats", responses=described())
async def stats(view: TheView, pools: ThePools, options: TheOptions) -> StatsResponse:
    return await pools.light.run(lambda: stats_response(view.index, options))


@routes.get("/documents", responses=described())
async def documents(view: TheView, pools: ThePools) -> DocumentsResponse:
    return DocumentsResponse(documents=await pools.light.run(view.listed))


@routes.get("/search", responses=described(409))
async def search(
    view: TheView,
    pools: ThePools,
    q: Asked,
    only: Only,
    mode: Mode = "vectors",
    words: bool = True,
) -> SearchResponse:
    """The best pages, by `mode`: their vectors, their text, or both (`hybrid`).

    `words=false` leaves `matched` and `snippet` empty; where the index has no words stored, and
    they are read from files, it answers sooner.
    """
    request = SearchRequest(_not_blank(q), only, mode)
    return await pools.search.run(lambda: view.search(request, words=words))


@routes.post(
    "/search/image",
    responses=described(400, 408, 413, 507),
    openapi_extra={"requestBody": PICTURE_BODY},
)
@takes_picture
async def search_by_picture(
    request: Request, view: TheView, pools: ThePools, pictures: ThePictures, only: Only
) -> SearchResponse:
    """The pages most like a picture, which is the body: PNG, JPEG, TIFF or WebP.

    It is not kept. Only for an index whose encoder looks at pictures: see `searches_pictures`.
    """
    with pictures.receiving() as path:
        await save(request.stream(), path)

        def work() -> SearchResponse:
            return view.search_by_picture(pictures.decoded(path, view.pixels()), only)

        return await pools.search.run(work)


@routes.get("/pages/{document}/{number}", responses=described(404))
async def page(
    view: TheView, pools: ThePools, document: DocumentId, number: PageNumber
) -> PageResponse:
    return await pools.light.run(lambda: page_response(view, document, number))


@routes.get("/pages/{document}/{number}/words", responses=described(404, 409))
async def words(
    view: TheView, pools: ThePools, document: DocumentId, number: PageNumber
) -> WordsResponse:
    """The words of the page in reading order, and where they stand."""
    return await pools.light.run(lambda: view.words_response(document, number))


@routes.get("/pages/{document}/{number}/hit", responses=described(404))
async def hit(
    view: TheView, pools: ThePools, document: DocumentId, number: PageNumber, q: Asked
) -> HitResponse:
    """What the page has to say to a query, whether it is among the best or not."""
    query = _not_blank(q)
    return await pools.search.run(lambda: view.hit(query, document, number))


@routes.get(
    "/pages/{document}/{number}/image",
    response_class=Response,
    responses={**PICTURE, **described(404, 409)},
)
async def image(
    view: TheView,
    pools: ThePools,
    drawings: TheDrawings,
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
        drawing = page_drawing(view, document, number, width, overlay, q, word)
        tag = drawings.tag(drawing)
        headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache"}
        if if_none_match is not None and tag in if_none_match:
            return Response(status_code=304, headers=headers)
        return Response(drawings.draw(drawing, tag), 200, headers, "image/webp")

    return await pools.pictures.run(work)


@routes.get(
    "/pages/{document}/{number}/original",
    response_class=Response,
    responses={**FILE, **described(404, 409)},
)
async def original(
    view: TheView, pools: ThePools, document: DocumentId, number: PageNumber
) -> Response:
    """The file that the page is from."""
    return await pools.light.run(lambda: original_file(view, document, number))


@routes.get("/pages/{document}/{number}/reduction", responses=described(404))
async def reduction(
    reductions: TheReductions,
    pools: ThePools,
    document: DocumentId,
    number: PageNumber,
    spec: Spec,
) -> ReductionResponse:
    """What a spec would keep of the page, from its stored importances."""
    return await pools.light.run(lambda: reductions.of_page(document, number, spec))


@routes.get("/whatif", responses=described())
async def whatif(reductions: TheReductions, pools: ThePools, spec: Spec) -> WhatIf:
    """What a spec would keep of the whole index, from its stored importances."""
    return await pools.sums.run(lambda: reductions.of_index(spec))


@routes.get("/budget", responses=described())
async def budget(reductions: TheReductions, pools: ThePools) -> BudgetResponse:
    """The settings that a budget chooses from: the first that is small enough."""
    return await pools.sums.run(reductions.of_budget)


def _not_blank(query: str) -> str:
    if not query.strip():
        raise Refused(422, "q: the query is empty")
    return query
