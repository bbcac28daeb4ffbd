"""`docpruner serve`."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from docpruner.cli.arguments import DeviceOption, IndexArgument, TrustOption
from docpruner.cli.output import console
from docpruner.errors import DocPrunerError, MissingExtraError

LEAST_TOKEN = 8  # characters


def run(
    index: IndexArgument,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any other needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0 picks a free one.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="DOCPRUNER_TOKEN",
            help="A secret that clients must send; safer in the variable than on the command line.",
        ),
    ] = None,
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

    The page and its API (described at /api/openapi.json) can be reached from this computer only,
    unless you give another `--host`. Ctrl-C stops the server; pages that are being written are
    finished first.

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

    if token is None and not is_loopback(host):
        raise DocPrunerError(
            f"--host {host} lets others in; set DOCPRUNER_TOKEN to a secret that they must know"
        )
    if token is not None and len(token) < LEAST_TOKEN:
        raise DocPrunerError(
            f"the token is too easy to guess; use at least {LEAST_TOKEN} characters"
        )
    debug = "--debug" in sys.argv
    logging.basicConfig(level=logging.INFO if debug else logging.CRITICAL)
    opened = Index.open(index, device=device, trust_remote_code=trust_remote_code)
    _ = opened.encoder  # if it can't be loaded, say so now rather than at the first search
    listening = listen(host, port)
    app = make_app(
        opened,
        token=token,
        hosts=hosts_for(host),
        allow_changes=allow_changes,
        uploads=uploads,
        max_upload=max_upload * 1_000_000,
    )
    address = address_of(listening)
    hint = "" if token is None else "?token=…"
    console().print(
        f"{escape(str(index))} at {address}{hint}, press Ctrl-C to stop", soft_wrap=True
    )
    if open_:
        typer.launch(address if token is None else f"{address}?token={token}")
    serve(app, listening, debug=debug)
