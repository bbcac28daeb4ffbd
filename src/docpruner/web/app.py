"""The application, made for one index."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

from docpruner.facade import Index
from docpruner.web.changes import changes
from docpruner.web.files import static_routes
from docpruner.web.guard import LOOPBACK, Guard, Options
from docpruner.web.problems import answer_errors
from docpruner.web.routes import routes
from docpruner.web.service import Service


def make_app(
    index: Index | str | os.PathLike[str],
    *,
    token: str | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    allow_changes: bool = False,
    uploads: str | os.PathLike[str] | None = None,
    max_upload: int = 100 << 20,
) -> FastAPI:
    """An application that serves an index, open or in a folder, and closes it in the end.

    `hosts` are the names it may be called by, None for any. With `allow_changes`, documents can be
    added, which are saved in `uploads` (beside the index, if not given), and removed.
    """
    opened = index if isinstance(index, Index) else Index.open(index)
    path = opened.folder.resolve()
    beside = path.parent / f"{path.name}-uploads"
    options = Options(
        uploads=beside if uploads is None else Path(uploads).resolve(),
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
        lifespan=_lifespan,
    )
    app.state.service = Service(opened, options)
    answer_errors(app)
    app.add_middleware(Guard, options=options)
    app.include_router(static_routes)
    app.include_router(routes)
    app.include_router(changes)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    getting_ready = asyncio.create_task(service.lanes.search.run(service.warm_up))
    try:
        yield
    finally:
        with suppress(Exception):  # whoever searches is told
            await getting_ready
        await asyncio.to_thread(service.close)
