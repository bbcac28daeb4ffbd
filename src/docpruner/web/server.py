"""The server process: one socket, one event loop, and an orderly end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
import warnings
from collections.abc import Callable
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from docpruner.errors import DocPrunerError, PruningWarning
from docpruner.web.options import LOOPBACK

CONNECTIONS = 512
IDLE_SECONDS = 15
LEAVING_SECONDS = 10
BACKLOG = 256


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def hosts_for(host: str) -> frozenset[str] | None:
    """The names that requests may call a server by that listens on `host`."""
    if not is_loopback(host):
        return None
    return LOOPBACK | {f"[{host.strip('[]')}]" if ":" in host else host}


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections, from now on; port 0 is any free one."""
    where = host.strip("[]")
    try:
        addresses = socket.getaddrinfo(
            where, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
        family, kind, protocol, _, address = addresses[0]
        listening = socket.socket(family, kind, protocol)  # asyncio turns Nagle off by the latter
    except OSError as error:
        raise DocPrunerError(f"can't listen on {host}: no such address ({error})") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise DocPrunerError(
                f"port {port} is in use; choose another with --port, 0 for any free one"
            ) from error
        raise DocPrunerError(f"can't listen on {host}, port {port} ({error.strerror})") from error
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class PatientProtocol(H11Protocol):
    """Closes connections on which no request is under way: also those that never end one."""

    _idle = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if self._idle and idle:
            self.transport.close()
        if not self.transport.is_closing():
            self._idle = idle
            self.loop.call_later(IDLE_SECONDS, self._look)


def serve(app: Starlette, listening: socket.socket, *, debug: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM; then what is being written is finished."""
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_level="info" if debug else "error",
        access_log=False,  # it would show what people search for
        proxy_headers=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=LEAVING_SECONDS,
    )
    warnings.simplefilter("ignore", PruningWarning)  # many of them, in what-ifs
    before = [(number, signal.signal(number, _ended)) for number in _SIGNALS]
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        app.state.on_exit.close()
        for number, handler in before:
            signal.signal(number, handler)


_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, signal.SIGTERM)

_ended: Callable[[int, FrameType | None], None] = lambda number, frame: None  # noqa: ARG005, E731
"""uvicorn passes a signal on after it has ended well by it; there is nothing left to end."""
