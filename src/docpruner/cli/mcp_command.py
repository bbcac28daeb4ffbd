"""`docpruner mcp`."""

from __future__ import annotations

import importlib.util
import logging
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.arguments import (
    DeviceOption,
    IndexArgument,
    NoTokenOption,
    TokenOption,
    TrustOption,
    read_secret,
)
from docpruner.errors import DocPrunerError, MissingExtraError

if TYPE_CHECKING:
    from docpruner.integrations.mcp import AgentServer


def run(
    index: IndexArgument,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="HOST:PORT",
            help="Listen there instead of on standard input; a PORT alone is on this computer.",
        ),
    ] = None,
    token: TokenOption = None,
    no_token: NoTokenOption = False,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Let agents add and remove documents …")
    ] = False,
    folder: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder", metavar="FOLDER", help="… whose files lie below it. Can be repeated."
        ),
    ] = None,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Let agents search an index and look at its pages (MCP server).

    An MCP client starts it by itself, as docs/agents.md shows for several. It then speaks with the
    client over standard input and output. With `--http` it listens for clients instead, which need
    the token that it prints.

    Example: `docpruner mcp reports.idx`
    """
    if any(importlib.util.find_spec(name) is None for name in ("mcp", "fastapi", "uvicorn")):
        raise MissingExtraError("serving agents", "mcp")
    if allow_changes != bool(folder):
        raise DocPrunerError("--allow-changes and --folder FOLDER go together; give both or none")
    from docpruner.facade import Index

    debug = "--debug" in sys.argv
    logging.basicConfig(level=logging.INFO if debug else logging.CRITICAL)
    with redirect_stdout(sys.stderr):  # what a model prints is no message to the client
        from docpruner.integrations.mcp import AgentServer

        opened = Index.open(index, device=device, trust_remote_code=trust_remote_code)
        server = AgentServer(opened, folders=folder or (), tells_paths=http is None)
    if http is None:
        server.run_stdio()
    else:
        _listen(server, index, http, token, no_token, debug)


def _listen(
    server: AgentServer, index: str, http: str, token: str | None, no_token: bool, debug: bool
) -> None:
    from docpruner.integrations.mcp import PATH
    from docpruner.web.server import address_of, hosts_for, is_loopback, listen, serve

    host, port = _address(http)
    if no_token and not is_loopback(host):
        raise DocPrunerError(f"--http {http} lets others in; leave out --no-token")
    secret = None if no_token else read_secret(token)
    _ = server.view.index.encoder  # if it can't be loaded, say so now rather than at a search
    listening = listen(host, port)
    # a token of one's own is known, and the line may end up in a log
    shown = (
        "" if secret is None or token is not None else f", header Authorization: Bearer {secret}"
    )
    typer.echo(f"{index} at {address_of(listening)}{PATH[1:]}{shown} (press Ctrl-C to stop)")
    serve(server.app(token=secret, hosts=hosts_for(host)), listening, debug=debug)


def _address(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise DocPrunerError(f"--http {http} is not HOST:PORT; write for example 127.0.0.1:8001")
    return host or "127.0.0.1", int(port)
