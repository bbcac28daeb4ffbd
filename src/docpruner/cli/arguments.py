"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from docpruner.facade import Index

SOME, NOTHING, INTERRUPTED = 3, 4, 130
"""Exit statuses besides 0, 1 for an error and 2 for wrong usage: a part was done, nothing was,
Ctrl-C."""

IndexArgument = Annotated[
    Path, typer.Argument(metavar="INDEX", help="The folder of the index.", show_default=False)
]
WaitOption = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for another writer.")
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="Where the model runs: cuda, mps or cpu. Default: the best."),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Let the model run code of its own (Jina v4)."),
]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", "-m", metavar="KEY=VALUE", help="May be given several times."),
]


def open_index(folder: Path, *, device: str | None, trust_remote_code: bool) -> Index:
    """The index, with its encoder loaded as asked for."""
    from docpruner.encoders.registry import load_encoder
    from docpruner.facade import Index

    opened = Index.open(folder)
    if device is None and not trust_remote_code:
        return opened
    name = opened.settings.encoder
    opened.close()
    encoder = load_encoder(name, device=device, trust_remote_code=trust_remote_code)
    return Index.open(folder, encoder=encoder)
