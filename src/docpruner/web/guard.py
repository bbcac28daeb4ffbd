"""Who may ask for what: decided before anything of a request is read or done."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docpruner.web.error_responses import INTERNAL, Refused, error_response
from docpruner.web.options import ServerOptions

log = logging.getLogger(__name__)

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

MARK = "docpruner_mark"  # where the mark is on an endpoint
SMALL_BODY = 64 << 10  # bytes, of everything that is no upload
PICTURE_BODY = 20 << 20  # bytes, of a picture to search by
AROUND_FILES = 1 << 20  # bytes that an upload may have besides its files
BODY_SECONDS = 30.0  # without another byte
WHOLE_BODY_SECONDS = 900.0
SAFE = ("GET", "HEAD", "OPTIONS")
PUBLIC = re.compile(r"/(static/.*|api/health)?")  # the page itself, which asks for the token

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
class Mark:
    """What a route may be sent, and whether it changes the index by that."""

    changes: bool = True
    takes_files: bool = False
    takes_picture: bool = False


def changes_index(*, takes_files: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Mark a route that changes something: any other is refused what is not a mere look.

    takes_files: its body may be as large as an upload.
    """

    def marked(endpoint: Endpoint) -> Endpoint:
        endpoint.__dict__[MARK] = Mark(takes_files=takes_files)
        return endpoint

    return marked


def takes_picture(endpoint: Endpoint) -> Endpoint:
    """Mark a route that is sent a picture, and changes nothing."""
    endpoint.__dict__[MARK] = Mark(changes=False, takes_picture=True)
    return endpoint


def decides_itself(endpoint: Endpoint) -> Endpoint:
    """Mark the route of a protocol that asks everything by POST, and has permissions of its own."""
    endpoint.__dict__[MARK] = Mark(changes=False)
    return endpoint


class Guard:
    """Refuses what may not be, limits bodies, and sets the headers of every answer.

    `routes` are those of the app's routers, which the app itself does not list one by one.
    """

    def __init__(self, app: ASGIApp, options: ServerOptions, routes: Sequence[BaseRoute]) -> None:
        self._app, self._options, self._routes = app, options, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            body = _Body(receive, self._checked(scope))
            await self._app(scope, body.receive, answer.send)
        except ClientDisconnect:
            return
        except Refused as refusal:
            response = error_response(refusal.status_code, refusal.detail)
            if refusal.status_code == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            await response(scope, receive, answer.send)
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            if not answer.begun:
                await error_response(500, INTERNAL)(scope, receive, answer.send)

    def _checked(self, scope: Scope) -> int:
        """The largest body that this request may have."""
        headers = Headers(scope=scope)
        host, method, path = headers.get("host", ""), scope["method"], scope["path"]
        if self._options.hosts is not None and _without_port(host) not in self._options.hosts:
            raise Refused(421, "this server answers to localhost and 127.0.0.1 only")
        if method not in SAFE or not PUBLIC.fullmatch(path):
            self._check_token(headers)
            _check_site(headers, host, method)
        largest = SMALL_BODY
        if method not in SAFE:
            mark = self._mark(scope)
            if mark.takes_files:
                largest = self._options.max_upload + AROUND_FILES
            elif mark.takes_picture:
                largest = min(PICTURE_BODY, self._options.max_upload)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > largest:
            raise _too_large(largest)
        return largest

    def _mark(self, scope: Scope) -> Mark:
        """Of a route that may be asked for more than a look."""
        routes = (*self._routes, *scope["app"].routes)
        matching = (route for route in routes if route.matches(scope)[0] is Match.FULL)
        marks = (getattr(getattr(route, "endpoint", None), MARK, None) for route in matching)
        found = next((mark for mark in marks if isinstance(mark, Mark)), None)
        if found is None:
            raise Refused(403, f"{scope['method']} is not allowed here")
        if found.changes and not self._options.allow_changes:
            raise Refused(403, "changes are not allowed; start the server with --allow-changes")
        return found

    def _check_token(self, headers: Headers) -> None:
        """Sent as a header, never in an address: addresses are logged on their way."""
        token = self._options.token
        if token is None:
            return
        kind, _, text = headers.get("authorization", "").partition(" ")
        given = text.strip().encode("latin-1") if kind.lower() == "bearer" else b""  # as it came
        if not hmac.compare_digest(given, token.encode()):
            raise Refused(401, "send the server's token in a header: Authorization: Bearer …")


def _check_site(headers: Headers, host: str, method: str) -> None:
    """Another site must not make use of a visitor's browser."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    foreign = site not in (None, "same-origin", "none")
    if method not in SAFE and origin is not None:
        foreign = foreign or urlsplit(origin).netloc.lower() != host.lower()
    if foreign:
        raise Refused(403, "requests from other sites are not allowed")


def _without_port(host: str) -> str:
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdecimal() else host.lower()


def _too_large(limit: int) -> Refused:
    return Refused(413, f"the request is too large; the limit is {limit:,} bytes")


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
            raise Refused(408, "the request took too long to arrive") from None
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
