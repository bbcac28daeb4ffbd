"""Requests to a server, and its errors as ours."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from docpruner.errors import ServerError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
BODY_TYPE = "application/octet-stream"

Query = Iterable[tuple[str, str]]


class Connection:
    """To one server. Any thread may use it."""

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        """The token may stand behind the address, as the server prints it."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(f"{url!r} is no address of a server; it looks like {EXAMPLE}")
        printed = parts.fragment.removeprefix("token=")
        self._token = token or (unquote(printed) if printed != parts.fragment else None)
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._timeout = timeout
        self._opener = _opener(direct=parts.hostname in LOOPBACK)

    def get(self, path: str, query: Query = ()) -> Any:
        return self._json("GET", path, query)

    def post(self, path: str, body: bytes, query: Query = (), kind: str = BODY_TYPE) -> Any:
        return self._json("POST", path, query, body, kind)

    def delete(self, path: str) -> Any:
        return self._json("DELETE", path)

    def download(self, path: str, query: Query = ()) -> bytes:
        return self._answer("GET", path, query, None, BODY_TYPE)

    def _json(
        self, method: str, path: str, query: Query = (), body: bytes | None = None, kind: str = ""
    ) -> Any:
        answer = self._answer(method, path, query, body, kind)
        try:
            return json.loads(answer)
        except ValueError:
            raise ServerError(f"{self.url} is no docpruner server: its answer is no JSON") from None

    def _answer(self, method: str, path: str, query: Query, body: bytes | None, kind: str) -> bytes:
        asked = urlencode(list(query), errors="replace")
        request = Request(
            f"{self.url}/api/{path}{'?' if asked else ''}{asked}", body, method=method
        )
        if body is not None:
            request.add_header("Content-Type", kind)
        if self._token is not None:  # as bytes: it may have any letters
            request.add_header("Authorization", f"Bearer {self._token}".encode().decode("latin-1"))
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                answer: bytes = response.read()
                return answer
        except HTTPError as error:
            raise self._refusal(error) from None
        except TimeoutError:
            raise self._too_slow() from None
        except URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._too_slow() from None
            raise self._unreachable(error.reason) from None
        except (OSError, HTTPException) as error:
            raise self._unreachable(error) from None

    def _refusal(self, error: HTTPError) -> ServerError:
        with error:
            status = error.code
            try:
                told = json.loads(error.read())["error"]
                code, message = str(told["code"]), str(told["message"])
            except (ValueError, LookupError, TypeError, OSError, HTTPException):
                where = error.headers.get("Location", "")
                message = f"it answered {status}" + (f" and refers to {where}" if where else "")
                code = ""
        if status == 401:
            given = "is not the right one" if self._token else "is missing"
            message = (
                f"the token {given}; give the server's as Client(url, token=…) or DOCPRUNER_TOKEN"
            )
        return ServerError(f"{self.url}: {message}", status=status, code=code)

    def _unreachable(self, reason: object) -> ServerError:
        text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return ServerError(
            f"can't reach {self.url} ({text.lower()}); is docpruner serve running there, and does "
            "it listen to other machines (--host)?"
        )

    def _too_slow(self) -> ServerError:
        return ServerError(
            f"{self.url} did not answer within {self._timeout:g} s; ask again, or give a longer "
            "timeout"
        )


EXAMPLE = "http://127.0.0.1:8000"


class _NoRedirects(HTTPRedirectHandler):
    """Another server must not be given the token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(*, direct: bool) -> OpenerDirector:
    """`direct` goes by no proxy, which could not reach this computer's own addresses."""
    return build_opener(_NoRedirects, *([ProxyHandler({})] if direct else []))
