"""The routes that change the index, each marked as one for the guard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi import Path as PathPart
from starlette.datastructures import UploadFile

from docpruner.web.dependencies import DocumentId, TheJobs, TheOptions, ThePools, TheView
from docpruner.web.error_responses import Refused, described
from docpruner.web.guard import changes_index
from docpruner.web.options import ServerOptions
from docpruner.web.schemas import DeletedResponse, JobResponse, JobStartedResponse
from docpruner.web.uploads import save

changes = APIRouter(prefix="/api")

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
    responses=described(400, 408, 413, 507),
    openapi_extra={"requestBody": BODY},
)
@changes_index(takes_files=True)
async def upload(
    request: Request, jobs: TheJobs, pools: ThePools, options: TheOptions
) -> JobStartedResponse:
    """Add documents. They are saved, then indexed one upload after another."""
    folder = _uploads_folder(options)
    with jobs.receiving():
        async with request.form(max_files=options.max_files, max_fields=4) as form:
            sent = [file for file in form.getlist("files") if isinstance(file, UploadFile)]
            files = [(file.filename or "", file.file) for file in sent]
            if not files:
                raise Refused(422, "no files; send them as multipart/form-data in a field `files`")
            paths = await pools.light.run(lambda: save(files, folder))
    return JobStartedResponse(job=jobs.start(paths))


@changes.get("/jobs/{job}", responses=described(404))
async def job(jobs: TheJobs, job: Annotated[str, PathPart(max_length=40)]) -> JobResponse:
    """How far an upload has got."""
    return jobs.described(job)


@changes.delete("/documents/{document}", responses=described(404, 409, 507))
@changes_index()
async def delete(view: TheView, pools: ThePools, document: DocumentId) -> DeletedResponse:
    """Take a document out of the index. Its file stays where it is."""
    return DeletedResponse(deleted=await pools.light.run(lambda: view.delete(document)))


def _uploads_folder(options: ServerOptions) -> Path:
    if options.uploads is None:
        raise Refused(403, "there is no folder for uploads; start the server with --uploads")
    return options.uploads
