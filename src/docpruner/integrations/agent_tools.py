"""The tools that agents are given, as functions of the MCP SDK."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp_types import CallToolResult, ImageContent, TextContent
from pydantic import BaseModel, Field

from docpruner.errors import (
    DamagedIndexError,
    DocPrunerError,
    EncoderError,
    IndexStateError,
    PageError,
)
from docpruner.integrations.agent_changes import AgentChanges
from docpruner.integrations.agent_results import (
    AddResult,
    DeleteResult,
    DocumentsResult,
    IndexStats,
    PageTextResult,
    SearchResult,
)
from docpruner.integrations.agent_view import AgentView
from docpruner.pipeline.add_report import AddReport
from docpruner.types import Mode
from docpruner.web.error_responses import Refused, public_answer
from docpruner.web.pools import BoundedPool, Pools

T = TypeVar("T")

SIDE, LEAST_SIDE, MOST_SIDE = 1200, 200, 2000  # pixels
PROGRESS_SECONDS = 1.0  # to wait until it is sent
PRIVATE = (PageError, EncoderError, IndexStateError, DamagedIndexError)
"""Errors whose texts may name folders of this computer."""

Name = Annotated[
    str,
    Field(min_length=1, max_length=1000, description="A document as search and documents name it."),
]
PageNumber = Annotated[int, Field(ge=1, le=1_000_000_000, description="From 1.")]
Query = Annotated[str, Field(min_length=1, max_length=1000)]
Metadata = dict[str, str] | None


class Tools:
    """The tools. Their docstrings and annotations are what a model is told of them."""

    def __init__(self, view: AgentView, changes: AgentChanges | None = None) -> None:
        self._view, self._changes = view, changes
        self._pools, self._adding = Pools(), BoundedPool(1, 8)

    async def search(
        self,
        query: Annotated[Query, Field(description="A question, or what a page should show.")],
        k: Annotated[int, Field(ge=1, le=50, description="Pages to return.")] = 5,
        mode: Annotated[
            Mode,
            Field(description="vectors: by meaning and looks; text: by its words; hybrid: both."),
        ] = "vectors",
        document: Annotated[
            str | None,
            Field(max_length=1000, description="Only documents of this name; * and ? are allowed."),
        ] = None,
        pages: Annotated[str | None, Field(description="Only these: 7, 3-10, 3- or -10.")] = None,
        metadata: Annotated[Metadata, Field(description="Only documents with these.")] = None,
    ) -> Annotated[CallToolResult, SearchResult]:
        """Find the pages that best answer a query, with a snippet and where on them it matches."""
        return await self._answer(
            self._pools.search,
            lambda: self._view.search(query, k, mode, document, pages, metadata),
        )

    async def page_text(
        self, document: Name, page: PageNumber
    ) -> Annotated[CallToolResult, PageTextResult]:
        """Read the text of a page, line by line."""
        return await self._answer(self._pools.light, lambda: self._view.text(document, page))

    async def page_image(
        self,
        document: Name,
        page: PageNumber,
        query: Annotated[
            Query | None, Field(description="Lights what answers it; leave out for the bare page.")
        ] = None,
        size: Annotated[
            int,
            Field(ge=LEAST_SIDE, le=MOST_SIDE, description="Of the longer side, in pixels."),
        ] = SIDE,
    ) -> CallToolResult:
        """Look at a page: a PNG, and for clients that show no pictures a text and a file's path."""
        shown = await self._run(
            self._pools.pictures, lambda: self._view.picture(document, page, query, size)
        )
        data = base64.b64encode(shown.png).decode()
        return CallToolResult(
            content=[
                ImageContent(type="image", data=data, mime_type="image/png"),
                TextContent(type="text", text=shown.caption),
            ]
        )

    async def documents(
        self,
        match: Annotated[
            str | None, Field(max_length=1000, description="A name; * and ? are allowed.")
        ] = None,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=500)] = 100,
    ) -> Annotated[CallToolResult, DocumentsResult]:
        """List the documents of the index, by name."""
        return await self._answer(
            self._pools.light, lambda: self._view.documents(match, offset, limit)
        )

    async def stats(self) -> Annotated[CallToolResult, IndexStats]:
        """What the index holds, and what it takes."""
        return await self._answer(self._pools.light, self._view.stats)

    async def add(
        self,
        paths: Annotated[
            list[str],
            Field(min_length=1, max_length=100, description="PDFs, pictures, or folders of them."),
        ],
        context: Context[Any, Any],
        ocr: Annotated[
            bool | None,
            Field(
                description="Recognise the words of scans. By default if that is installed and the "
                "index goes by words; true also for pages that are in without words."
            ),
        ] = None,
        metadata: Annotated[Metadata, Field(description="To filter by later.")] = None,
    ) -> Annotated[CallToolResult, AddResult]:
        """Add files to the index, or bring it up to date with them."""
        loop = asyncio.get_running_loop()

        def progress(report: AddReport) -> None:
            told = context.report_progress(min(report.share, 1.0), 1.0, f"{report.pages:,} pages")
            with suppress(TimeoutError):  # the client does not listen
                asyncio.run_coroutine_threadsafe(told, loop).result(PROGRESS_SECONDS)

        changes = self._allowed()
        return await self._answer(self._adding, lambda: changes.add(paths, ocr, metadata, progress))

    async def delete(
        self, documents: Annotated[list[Name], Field(min_length=1, max_length=100)]
    ) -> Annotated[CallToolResult, DeleteResult]:
        """Take documents out of the index. Their files stay where they are."""
        changes = self._allowed()
        return await self._answer(self._pools.light, lambda: changes.delete(documents))

    async def text_resource(self, document: str, page: int) -> str:
        """The text of a page."""
        with _for_resources():
            return (
                await self._run(self._pools.light, lambda: self._view.text(document, page))
            ).text

    async def image_resource(self, document: str, page: int) -> bytes:
        """A page as a PNG."""
        with _for_resources():
            shown = await self._run(
                self._pools.pictures, lambda: self._view.picture(document, page, None, SIDE)
            )
            return shown.png

    def _allowed(self) -> AgentChanges:
        if self._changes is None:
            raise ToolError("changes are not allowed; start docpruner mcp with --allow-changes")
        return self._changes

    async def _answer(self, pool: BoundedPool, work: Callable[[], BaseModel]) -> CallToolResult:
        """Structured, and as JSON for clients that know text only; without the SDK's line breaks,
        which would double what a model has to read."""
        result = await self._run(pool, work)
        return CallToolResult(
            content=[TextContent(type="text", text=result.model_dump_json())],
            structured_content=result.model_dump(mode="json"),
        )

    async def _run(self, pool: BoundedPool, work: Callable[[], T]) -> T:
        try:
            return await pool.run(work)
        except Refused as refusal:
            raise RefusalError(refusal.detail, refusal.status_code) from None
        except DocPrunerError as error:
            raise RefusalError(self._said(error)) from None

    def _said(self, error: DocPrunerError) -> str:
        hidden = isinstance(error, PRIVATE) and not self._view.tells_paths
        return public_answer(error)[1] if hidden else str(error)


class RefusalError(ToolError):
    """What a model is told of a call that can't be answered."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def _for_resources() -> Iterator[None]:
    try:
        yield
    except RefusalError as refusal:
        kind = ResourceNotFoundError if refusal.status == 404 else ResourceError
        raise kind(str(refusal)) from None
