"""`docpruner serve`."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from docpruner.cli.arguments import DeviceOption, IndexArgument, TrustOption, open_index
from docpruner.cli.output import console
from docpruner.errors import DocPrunerError, MissingExtraError

LEAST_TOKEN = 8  # characters


def run(
    index: IndexArgument,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; others than this need a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="0 takes any free one.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="DOCPRUNER_TOKEN",
            help="What a browser or program has to know; better set as a variable than typed.",
        ),
    ] = None,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Let documents be added and removed.")
    ] = False,
    uploads: Annotated[
        Path | None,
        typer.Option(
            "--uploads",
            metavar="FOLDER",
            help="Where added documents are kept. Default: beside the index, INDEX-uploads.",
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option("--max-upload", metavar="MB", min=1, help="Of all files sent at once.")
    ] = 100,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
) -> None:
    """Search an index in the browser, and look at what was kept of its pages.

    The page and its API (described at /api/openapi.json) are for this computer alone, unless
    another `--host` is given. Ctrl-C stops it; what is being added by then is finished as far as it
    is written.

    Example: `docpruner serve reports.idx --open`
    """
    if any(
        importlib.util.find_spec(name) is None
        for name in ("fastapi", "uvicorn", "python_multipart")
    ):
        raise MissingExtraError("serving", "web")
    from docpruner.web.app import make_app
    from docpruner.web.server import address_of, hosts_for, is_loopback, listen, serve

    if token is None and not is_loopback(host):
        raise DocPrunerError(
            f"--host {host} lets others in; set DOCPRUNER_TOKEN to a secret that they have to know"
        )
    if token is not None and len(token) < LEAST_TOKEN:
        raise DocPrunerError(f"the token is too easy to guess; take {LEAST_TOKEN} signs or more")
    debug = "--debug" in sys.argv
    logging.basicConfig(level=logging.INFO if debug else logging.CRITICAL)
    opened = open_index(index, device=device, trust_remote_code=trust_remote_code)
    _ = opened.encoder  # an error if it is not there, now rather than at the first search
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
    console().print(f"{escape(str(index))} at {address}{hint}, Ctrl-C stops it", soft_wrap=True)
    if open_:
        typer.launch(address if token is None else f"{address}?token={token}")
    serve(app, listening, debug=debug)
