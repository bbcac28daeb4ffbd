"""Who may ask what: looked at before anything of a request is read or done."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docpruner.web.problems import INTERNAL, Refused, error_answer

log = logging.getLogger(__name__)

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
UPLOADS = "/api/documents"
SMALL_BODY = 64 << 10  # bytes, of everything that is no upload
AROUND_FILES = 1 << 20  # bytes that an upload may have besides its files
BODY_SECONDS = 30.0  # without another byte
WHOLE_BODY_SECONDS = 900.0
SAFE = ("GET", "HEAD", "OPTIONS")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Options:
    """How an index is served."""

    uploads: Path
    allow_changes: bool = False
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK  # that a request may be for; None is any
    max_upload: int = 100 << 20  # bytes
    max_files: int = 50  # of one upload


class Guard:
    """Refuses what may not be, limits bodies, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app, self._options = app, options

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            self._check(scope)
            body = _Body(receive, self._largest_body(scope))
            await self._app(scope, body.receive, answer.send)
        except ClientDisconnect:
            return
        except Refused as refusal:
            told = error_answer(refusal.status_code, refusal.detail)
            if refusal.status_code == 401:
                told.headers["WWW-Authenticate"] = "Bearer"
            await told(scope, receive, answer.send)
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            if not answer.begun:
                await error_answer(500, INTERNAL)(scope, receive, answer.send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host, method, path = headers.get("host", ""), scope["method"], scope["path"]
        if self._options.hosts is not None and _without_port(host) not in self._options.hosts:
            raise Refused(421, "this server answers to localhost and 127.0.0.1 only")
        if path.startswith("/api/") and path != "/api/health":
            self._check_token(headers, scope["query_string"])
            _check_site(headers, host, method)
        if method not in SAFE and path.startswith(UPLOADS) and not self._options.allow_changes:
            raise Refused(403, "changes are not allowed; start the server with --allow-changes")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self._largest_body(scope):
            raise _too_large(self._largest_body(scope))

    def _check_token(self, headers: Headers, query: bytes) -> None:
        wanted = self._options.token
        if wanted is None:
            return
        kind, _, text = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            given = text.strip().encode("latin-1")  # the bytes as they came
        else:
            given = parse_qs(query.decode("latin-1")).get("token", [""])[0].encode()
        if not hmac.compare_digest(given, wanted.encode()):
            raise Refused(401, "this needs the server's token: Authorization: Bearer …")

    def _largest_body(self, scope: Scope) -> int:
        is_upload = scope["method"] == "POST" and scope["path"] == UPLOADS
        return self._options.max_upload + AROUND_FILES if is_upload else SMALL_BODY


def _check_site(headers: Headers, host: str, method: str) -> None:
    """Other sites may not use the browser of who may."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if method not in SAFE and origin is not None:
        foreign = foreign or urlsplit(origin).netloc.lower() != host.lower()
    if foreign:
        raise Refused(403, "requests from other sites are refused")


def _without_port(host: str) -> str:
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdecimal() else host.lower()


def _too_large(limit: int) -> Refused:
    return Refused(413, f"that is too large; at most {limit:,} bytes are read")


class _Body:
    """A body up to a limit, of a client that goes on sending."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._left, self._limit = receive, limit, limit
        self._until = time.monotonic() + WHOLE_BODY_SECONDS
        self._ended = False

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            seconds = min(BODY_SECONDS, self._until - time.monotonic())
            message = await asyncio.wait_for(self._receive(), seconds)
        except TimeoutError:
            raise Refused(408, "it took too long to come") from None
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _too_large(self._limit)
        self._ended = not message.get("more_body", False)
        return message


class _Answer:
    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)
