"""Files that are sent out: those of the page, and those that were indexed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import FileResponse

from docpruner.pages.files import SUFFIXES
from docpruner.web.error_responses import Refused, described
from docpruner.web.index_view import IndexView

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
}
SANDBOX = {"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "no-store"}

static_routes = APIRouter(include_in_schema=False)


@static_routes.get("/", responses=described())
async def front() -> FileResponse:
    return static_file("index.html")


@static_routes.get("/static/{name}")
async def static(name: str) -> FileResponse:
    return static_file(name)


def static_file(name: str) -> FileResponse:
    """By its name in the list of the files there are; a request is no path."""
    there = {path.name: path for path in STATIC.glob("*") if path.suffix in KINDS}
    if name not in there:
        raise Refused(404, "no such address")
    path = there[name]
    headers = {"Cache-Control": "no-cache"}
    return FileResponse(path, media_type=KINDS[path.suffix], headers=headers)


def original_file(view: IndexView, document: str, number: int) -> FileResponse:
    """To be saved, not shown: an indexed file may come from anywhere."""
    entry, _ = view.page(document, number)
    path = Path(entry.name)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES or not _is_regular(path):
        raise Refused(404, f"the file of {path.name} is gone; index it again, or remove it")
    return FileResponse(path, media_type=KINDS[suffix], filename=path.name, headers=SANDBOX)


def _is_regular(path: Path) -> bool:
    """False for a link too: files are indexed under their real paths, so it came later."""
    try:
        return stat.S_ISREG(path.lstat().st_mode) and os.access(path, os.R_OK)
    except (OSError, ValueError):
        return False
