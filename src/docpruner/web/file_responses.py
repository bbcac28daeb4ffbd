"""Files that are sent out: those of the page, and those that were indexed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import BinaryIO
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

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
BYTES = "application/octet-stream"
PART = 256 << 10  # bytes
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


def original_file(view: IndexView, document: str, number: int) -> Response:
    """To be saved, not shown: an indexed file may come from anywhere."""
    entry, _ = view.page(document, number)
    path = PurePath(entry.name)
    file, state = view.files.open(entry)
    return OpenFileResponse(file, state.bytes, path.name, KINDS.get(path.suffix.lower(), BYTES))


class OpenFileResponse(StreamingResponse):
    """A file that is open already, to be saved under a name; it is closed in the end."""

    def __init__(self, file: BinaryIO, size: int, name: str, kind: str) -> None:
        quoted = quote(name, safe="", errors="surrogatepass")
        named = f'filename="{name}"' if quoted == name else f"filename*=utf-8''{quoted}"
        headers = {"Content-Disposition": f"attachment; {named}", "Content-Length": str(size)}
        super().__init__(_parts(file, size), headers=SANDBOX | headers, media_type=kind)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._file.close()


def _parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    """As many bytes as were promised, should the file be growing."""
    while size > 0 and (part := file.read(min(PART, size))):
        size -= len(part)
        yield part
