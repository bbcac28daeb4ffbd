"""Errors as answers: `{"error": {"code": …, "message": …}}`, with no path and no traceback."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from docpruner.errors import (
    DamagedIndexError,
    DocPrunerError,
    EncoderError,
    FilterError,
    IndexBusyError,
    IndexClosedError,
    IndexWriteError,
    PageError,
    ReductionError,
    SpecError,
    TextSearchError,
)
from docpruner.outside_text import escaped_json
from docpruner.web.schemas import ErrorResponse

log = logging.getLogger(__name__)

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    421: "wrong_host",
    422: "invalid",
    429: "busy",
    500: "internal",
    503: "stopping",
    507: "cannot_write",
}

FRAMEWORK = {404: "no such address", 405: "this address doesn't support that method"}
INTERNAL = "something went wrong on the server; run docpruner --debug serve to see what"
DAMAGED = "part of the index is damaged; run docpruner verify on it"
BUSY = "another process is writing to the index; try again when it has finished"
CANT_WRITE = "the index can't be written to; its disk may be full or read-only"
NO_TEXT = "mode: the index can't be searched by text, only by vectors"
STOPPING = "the server is shutting down"
ENCODER = "the encoder of the index can't be used; run docpruner --debug serve to see why"
UNREADABLE = "the page can't be read from its file; index it again"


class SafeJSONResponse(JSONResponse):
    """Names of files may hold marks that turn text around: they go out as escapes."""

    def render(self, content: Any) -> bytes:
        return escaped_json(bytes(super().render(content)).decode()).encode()


class Refused(HTTPException):
    """A request that is not answered as it was asked."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)


def error_response(
    status: int, message: str, headers: dict[str, str] | None = None
) -> JSONResponse:
    content = {"error": {"code": CODES.get(status, "error"), "message": message}}
    return SafeJSONResponse(content, status, headers)


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides its own, for the OpenAPI document."""
    always = (401, 403, 421, 422, 429, 500)
    return {status: {"model": ErrorResponse} for status in sorted({*always, *statuses})}


def answer_errors(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(DocPrunerError, _known)


def _refused(_: Request, error: Exception) -> JSONResponse:
    refusal = error if isinstance(error, HTTPException) else HTTPException(500, INTERNAL)
    message = refusal.detail
    if not isinstance(refusal, Refused):
        message = FRAMEWORK.get(refusal.status_code, message)
    return error_response(refusal.status_code, message, dict(refusal.headers or {}))


def _invalid(_: Request, error: Exception) -> JSONResponse:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    texts = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in problems]
    return error_response(422, "; ".join(texts))


def public_answer(error: DocPrunerError) -> tuple[int, str]:
    """A status, and what may be said: of errors that may name a folder or quote a file, only what
    they mean."""
    for kind, answer in ANSWERS.items():
        if isinstance(error, kind):
            return answer
    if isinstance(error, FilterError | SpecError | ReductionError):
        return 422, str(error)
    return 500, INTERNAL


ANSWERS: dict[type[DocPrunerError], tuple[int, str]] = {
    PageError: (422, UNREADABLE),
    EncoderError: (500, ENCODER),
    IndexBusyError: (409, BUSY),
    IndexWriteError: (507, CANT_WRITE),
    IndexClosedError: (503, STOPPING),
    TextSearchError: (409, NO_TEXT),
    DamagedIndexError: (500, DAMAGED),
}


def _known(_: Request, error: Exception) -> JSONResponse:
    status, message = (500, INTERNAL)
    if isinstance(error, DocPrunerError):
        status, message = public_answer(error)
    if message != str(error):
        log.error("%s", error)
    return error_response(status, message)
