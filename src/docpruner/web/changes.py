"""The routes that change the index; the guard lets them through only if that is allowed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as PathPart
from starlette.datastructures import UploadFile

from docpruner.web.problems import Refused, described
from docpruner.web.routes import DocumentId, Held
from docpruner.web.shapes import Deleted, JobShape, JobStarted
from docpruner.web.uploads import save

changes = APIRouter(prefix="/api")

UPLOADS_AT_ONCE = 4
FILES: dict[str, Any] = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}, "minItems": 1}
    },
}
BODY = {"required": True, "content": {"multipart/form-data": {"schema": FILES}}}


@changes.post(
    "/documents",
    status_code=202,
    responses=described(400, 408, 413),
    openapi_extra={"requestBody": BODY},
)
async def upload(request: Request, held: Held) -> JobStarted:
    """Add documents. They are saved, then indexed one upload after another."""
    held.jobs.check_room()
    if held.uploading >= UPLOADS_AT_ONCE:
        raise Refused(429, "many files are being sent already; try again in a moment")
    held.uploading += 1
    try:
        async with request.form(max_files=held.options.max_files, max_fields=4) as form:
            sent = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            files = [(file.filename or "", file.file) for file in sent]
            if not files:
                raise Refused(422, "no files; send them as multipart/form-data in a field `files`")
            paths = await held.lanes.light.run(lambda: save(files, held.options.uploads))
    finally:
        held.uploading -= 1
    return JobStarted(job=held.jobs.start(paths))


@changes.get("/jobs/{job}", responses=described(404))
async def job(held: Held, job: Annotated[str, PathPart(max_length=40)]) -> JobShape:
    """How far an upload is."""
    return held.jobs.described(job)


@changes.delete("/documents/{document}", responses=described(404, 409))
async def delete(held: Held, document: DocumentId) -> Deleted:
    """Take a document out of the index. Its file stays where it is."""
    return Deleted(deleted=await held.lanes.light.run(lambda: held.library.delete(document)))
