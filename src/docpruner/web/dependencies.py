"""What routes are given: the parts of the running server, which `make_app` keeps in its state."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi import Path as PathPart

from docpruner.web.drawings import Drawings
from docpruner.web.index_view import IndexView
from docpruner.web.jobs import Jobs
from docpruner.web.options import ServerOptions
from docpruner.web.picture_queries import PictureQueries
from docpruner.web.pools import Pools
from docpruner.web.reductions import Reductions

LARGEST_NUMBER = 1_000_000_000


def _view(request: Request) -> IndexView:
    return cast(IndexView, request.app.state.view)


def _options(request: Request) -> ServerOptions:
    return cast(ServerOptions, request.app.state.options)


def _pools(request: Request) -> Pools:
    return cast(Pools, request.app.state.pools)


def _drawings(request: Request) -> Drawings:
    return cast(Drawings, request.app.state.drawings)


def _reductions(request: Request) -> Reductions:
    return cast(Reductions, request.app.state.reductions)


def _jobs(request: Request) -> Jobs:
    return cast(Jobs, request.app.state.jobs)


def _pictures(request: Request) -> PictureQueries:
    return cast(PictureQueries, request.app.state.pictures)


TheView = Annotated[IndexView, Depends(_view)]
TheOptions = Annotated[ServerOptions, Depends(_options)]
ThePools = Annotated[Pools, Depends(_pools)]
TheDrawings = Annotated[Drawings, Depends(_drawings)]
TheReductions = Annotated[Reductions, Depends(_reductions)]
TheJobs = Annotated[Jobs, Depends(_jobs)]
ThePictures = Annotated[PictureQueries, Depends(_pictures)]

DocumentId = Annotated[
    str, PathPart(pattern=r"^[0-9a-f]{16}$", description="As GET /api/documents gives it.")
]
PageNumber = Annotated[int, PathPart(ge=1, le=LARGEST_NUMBER)]
