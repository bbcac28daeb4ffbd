"""The application, made for one index."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

from docpruner.facade import Index
from docpruner.web.changes import changes
from docpruner.web.drawings import Drawings
from docpruner.web.error_responses import SafeJSONResponse, answer_errors
from docpruner.web.file_responses import static_routes
from docpruner.web.guard import Guard
from docpruner.web.index_view import IndexView
from docpruner.web.jobs import Jobs
from docpruner.web.options import LOOPBACK, ServerOptions
from docpruner.web.picture_queries import PictureQueries
from docpruner.web.pools import Pools
from docpruner.web.reductions import Reductions
from docpruner.web.routes import routes


def make_app(
    index: Index | str | os.PathLike[str],
    *,
    token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    allow_changes: bool = False,
    uploads: str | os.PathLike[str] | None = None,
    max_upload: int = 100 << 20,
) -> FastAPI:
    """An application that serves an index, and closes it in the end.

    index: open, or its location.
    token: what requests have to know; None lets everybody in.
    hosts: the names that the server may be called by; None for any.
    allow_changes: lets documents be added and removed.
    uploads: the folder for added documents; beside the index, if that is a folder too.
    max_upload: bytes of all files sent at once.
    """
    opened = index if isinstance(index, Index) else Index.open(index)
    options = ServerOptions(
        uploads=_beside(opened.location) if uploads is None else Path(uploads).resolve(),
        allow_changes=allow_changes,
        token=token,
        hosts=hosts,
        max_upload=max_upload,
    )
    app = FastAPI(
        title="docpruner",
        version=version("docpruner"),
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        default_response_class=SafeJSONResponse,
        lifespan=_lifespan,
    )
    _begin(app, opened, options)
    answer_errors(app)
    routers = (static_routes, routes, changes)
    app.add_middleware(
        Guard, options=options, routes=[route for router in routers for route in router.routes]
    )
    for router in routers:
        app.include_router(router)
    return app


def _begin(app: FastAPI, index: Index, options: ServerOptions) -> None:
    """What the running server holds; `on_exit` closes it, once, what is being written first."""
    state = app.state
    state.options = options
    state.pools = Pools()
    state.view = IndexView(index)
    state.drawings = Drawings(state.view.files)
    state.reductions = Reductions(state.view)
    state.jobs = Jobs(state.view)
    state.pictures = PictureQueries()
    state.on_exit = ExitStack()
    for part in (state.view, state.drawings, state.pictures, state.jobs):
        state.on_exit.callback(part.close)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state = app.state

    def warm_up() -> None:
        """What the first who asks would wait for."""
        state.view.warm_up()
        state.drawings.warm_up()

    getting_ready = asyncio.create_task(state.pools.search.run(warm_up))
    try:
        yield
    finally:
        with suppress(Exception):  # whoever searches is told
            await getting_ready
        await asyncio.to_thread(state.on_exit.close)


def _beside(location: str) -> Path | None:
    """For an index that is no folder there is no such place."""
    if "://" in location:
        return None
    path = Path(location).resolve()
    return path.parent / f"{path.name}-uploads"
