"""Arguments and options that several commands share."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.errors import DocPrunerError

if TYPE_CHECKING:
    from docpruner.encoders.model_options import ModelOptions
    from docpruner.types import Ocr

SOME, NOTHING, INTERRUPTED = 3, 4, 130
"""Exit statuses besides 0, 1 for an error and 2 for wrong usage: a part was done, nothing was,
Ctrl-C."""

QUERY_LENGTH = 1000  # characters
LEAST_TOKEN = 8  # characters


class AttentionKernels(StrEnum):
    SDPA = "sdpa"
    FLASH = "flash"
    EAGER = "eager"


IndexArgument = Annotated[
    str,
    typer.Argument(
        metavar="INDEX", help="A folder, or scheme://… of another store.", show_default=False
    ),
]
GlobsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="GLOB",
        help="Documents, by name or path; * and ? stand for any characters.",
        show_default=False,
    ),
]
WaitOption = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for another writer.")
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", metavar="NAME", help="Where the model runs: cuda, mps or cpu. [default: best]"
    ),
]
DevicesOption = Annotated[
    str | None,
    typer.Option(
        "--devices",
        metavar="NAMES",
        help="Several, with an encoder process on each: 0,1 are CUDA devices.",
    ),
]
DtypeOption = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        metavar="NAME",
        help="float32, bfloat16 or float16. [default: what the device is good at]",
    ),
]
BatchSizeOption = Annotated[
    int | None,
    typer.Option(
        "--batch-size", metavar="PAGES", min=1, help="Pages at once. [default: as many as fit]"
    ),
]
AttentionOption = Annotated[
    AttentionKernels | None,
    typer.Option(
        "--attention",
        metavar="KERNELS",
        help="sdpa, flash or eager. [default: flash where it is installed]",
    ),
]
VisualTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-visual-tokens",
        metavar="N",
        min=1,
        help="Vectors of a page before pruning, at most. [default: as the model says]",
    ),
]
OcrLanguageOption = Annotated[
    str | None,
    typer.Option(
        "--ocr-language",
        metavar="CODES",
        help="Recognise words with the program tesseract in these languages, such as rus or "
        "rus+eng.",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="SIZE",
        help="What the index may take on disk, such as 500MB or 2GB; chooses spec and codec.",
    ),
]
BytesPerPageOption = Annotated[
    str | None,
    typer.Option(
        "--bytes-per-page", metavar="SIZE", help="The same for each page on average, such as 4kB."
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Let the model run its own code (Jina v4)."),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="DOCPRUNER_TOKEN",
        help="A secret that clients must send. Default: a new one each time.",
    ),
]
NoTokenOption = Annotated[
    bool, typer.Option("--no-token", help="Let everyone on this computer in.")
]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        "-m",
        metavar="KEY=VALUE",
        help="Only documents with this metadata. Can be repeated.",
    ),
]
NewMetadataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metadata",
        "-m",
        metavar="KEY=VALUE",
        help="Metadata for these documents; KEY= removes a key. Can be repeated.",
    ),
]


def read_query(text: str) -> str:
    """A query that is not empty, without the end of one that is far too long."""
    if not text.strip():
        raise DocPrunerError("the query is empty; say what to look for")
    if len(text) <= QUERY_LENGTH:
        return text
    from docpruner.cli.output import print_warning

    start = text[:QUERY_LENGTH]
    start = start[: max(start.rfind(" "), QUERY_LENGTH // 2)]
    print_warning(f"the query has {len(text):,} characters; only the first {len(start):,} are used")
    return start


def read_secret(token: str | None) -> str:
    """What clients must send: the token, or a new one if there is none."""
    if token is None:
        return secrets.token_urlsafe(24)
    if len(token.strip()) < LEAST_TOKEN:
        raise DocPrunerError(
            f"the token is too easy to guess; use at least {LEAST_TOKEN} characters"
        )
    return token.strip()


def read_budget(budget: str | None, bytes_per_page: str | None) -> str | None:
    if budget is not None and bytes_per_page is not None:
        raise DocPrunerError("give --budget or --bytes-per-page, not both")
    return budget if bytes_per_page is None else f"{bytes_per_page}/page"


def read_ocr(ocr: bool | None, language: str | None) -> Ocr | None:
    if ocr is False and language is not None:
        raise DocPrunerError("--no-ocr and --ocr-language exclude each other; give one of the two")
    return ocr if language is None else language


def read_model_options(
    device: str | None,
    devices: str | None,
    dtype: str | None,
    batch_size: int | None,
    attention: AttentionKernels | None,
    max_visual_tokens: int | None,
    trust_remote_code: bool,
) -> ModelOptions:
    from docpruner.encoders.model_options import ModelOptions, read_devices

    return ModelOptions(
        device=device,
        devices=() if devices is None else read_devices(devices),
        dtype=dtype,
        batch_size=batch_size,
        attention=None if attention is None else attention.value,
        max_visual_tokens=max_visual_tokens,
        trust_remote_code=trust_remote_code,
    )


def read_changes(given: list[str] | None) -> dict[str, str | None] | None:
    """Metadata to set; a key without a value is to go."""
    from docpruner.search.filters import read_metadata

    changes = read_metadata(given)
    return None if changes is None else {key: value or None for key, value in changes.items()}
