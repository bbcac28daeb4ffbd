"""`docpruner serve`."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

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


def run(
    index: IndexArgument,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; 0.0.0.0 for all.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0 picks a free one.")
    ] = 8000,
    token: TokenOption = None,
    no_token: NoTokenOption = False,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Let clients add and remove documents.")
    ] = False,
    uploads: Annotated[
        Path | None,
        typer.Option(
            "--uploads",
            metavar="FOLDER",
            help="Where uploaded documents are kept. Default: INDEX-uploads, beside the index.",
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option("--max-upload", metavar="MB", min=1, help="The largest upload.")
    ] = 100,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Search an index in the browser, and look at what was kept of its pages.

    Open the address that it prints: the token at its end lets you in. The page and its API
    (described at /api/openapi.json) can be reached from this computer only, unless you give
    another `--host`. Ctrl-C stops the server; pages that are being written are finished first.

    Example: `docpruner serve reports.idx --open`
    """
    if any(
        importlib.util.find_spec(name) is None
        for name in ("fastapi", "uvicorn", "python_multipart")
    ):
        raise MissingExtraError("serving", "web")
    from docpruner.facade import Index
    from docpruner.web.app import make_app
    from docpruner.web.server import address_of, hosts_for, is_loopback, listen, serve

    if no_token and not is_loopback(host):
        raise DocPrunerError(f"--host {host} lets others in; leave out --no-token")
    secret = None if no_token else read_secret(token)
    debug = "--debug" in sys.argv
    logging.basicConfig(level=logging.INFO if debug else logging.CRITICAL)
    opened = Index.open(index, device=device, trust_remote_code=trust_remote_code)
    _ = opened.encoder  # if it can't be loaded, say so now rather than at the first search
    listening = listen(host, port)
    app = make_app(
        opened,
        token=secret,
        hosts=hosts_for(host),
        allow_changes=allow_changes,
        uploads=uploads,
        max_upload=max_upload * 1_000_000,
    )
    address = address_of(listening)
    whole = address if secret is None else f"{address}#token={quote(secret, safe='')}"
    # a token of one's own is known, and the line may end up in a log
    typer.echo(f"{opened.location} at {whole if token is None else address} (press Ctrl-C to stop)")
    if open_:
        typer.launch(whole)
    serve(app, listening, debug=debug)
