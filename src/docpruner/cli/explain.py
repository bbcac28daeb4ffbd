"""`docpruner explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docpruner.cli.arguments import DeviceOption, TrustOption
from docpruner.cli.explaining import Wish, check_output, tell
from docpruner.cli.output import JsonOption
from docpruner.errors import DocPrunerError
from docpruner.search.filters import read_pages


def run(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|INDEX",
            help="A PDF, PNG, JPEG, TIFF or WebP file, or the folder of an index.",
            show_default=False,
        ),
    ],
    page: Annotated[
        str | None,
        typer.Option(
            metavar="3|NAME#3",
            help="The page to draw; of an index with its document's name, or that alone.",
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(metavar="3-10", help="The pages for a contact sheet. [default: all]"),
    ] = None,
    hit: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Draw what answers a query on an index's best pages."),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option("-k", metavar="N", min=1, help="With --hit: how many pages. [default: 1]"),
    ] = None,
    word: Annotated[
        str | None, typer.Option(metavar="WORD", help="With --hit: one word of the query alone.")
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            help="How to reduce pages; see `docpruner strategies`. [default: docpruner:k=-0.25, or "
            "the index's own]"
        ),
    ] = None,
    factor: Annotated[
        float | None, typer.Option("--k", help="Short for --spec docpruner:k=…")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Of a file: builtin, a Hugging Face repository or a folder. [default: builtin]"
        ),
    ] = None,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Of a file: recognise the words of scans (extra ocr).")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.png", help="Where to draw. [default: here]"),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the picture.")] = False,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Draw what pruning keeps of a page and how important each patch is, or what answers a query.

    Of a file, one page or a contact sheet of all; of an index, the same from what it stores, with
    --k as a what-if. With --hit, the patches that answered each word of a query, after pruning.

    Exit status: 0 if all was drawn, 3 if some pages were, 4 if a query has no hit.

    Example: `docpruner explain report.pdf --page 3 --k 0.25`

    Example: `docpruner explain reports.idx --hit "revenue in 2021" -k 3`
    """
    from docpruner.index.catalogue import NAME

    wish = Wish(
        what=what,
        page=page,
        span=read_pages(pages),
        hit=hit,
        best=best,
        word=word,
        spec=spec,
        factor=factor,
        encoder=encoder,
        ocr=ocr,
        output=output,
        device=device,
        trust_remote_code=trust_remote_code,
        quiet=json,
    )
    is_index = (what / NAME).exists()
    check_output(output)
    check(wish, is_index=is_index)
    if not is_index:
        from docpruner.cli.explaining_files import explain_file as explain
    elif hit is None:
        from docpruner.cli.explaining_index import explain_stored as explain
    else:
        from docpruner.cli.explaining_index import explain_hits as explain
    tell(explain(wish), open_=open_, json=json)


def check(wish: Wish, *, is_index: bool) -> None:
    """Options that don't go together."""
    about_hits = {"-k": wish.best, "--word": wish.word}
    if wish.spec is not None and wish.factor is not None:
        raise DocPrunerError("--k is short for --spec docpruner:k=…; give one of the two")
    if wish.hit is None:
        for option, value in about_hits.items():
            if value is not None:
                also = "; the factor of DocPruner is --k" if option == "-k" else ""
                raise DocPrunerError(f"{option} goes with --hit QUERY{also}")
    elif not is_index:
        raise DocPrunerError(
            f"--hit needs an index; make one with: docpruner index my.idx {wish.what}"
        )
    elif wish.spec is not None or wish.factor is not None:
        raise DocPrunerError("--hit shows what the index stores; leave out --k and --spec")
    if is_index and (wish.encoder is not None or wish.ocr):
        option = "--ocr" if wish.ocr else "--encoder"
        raise DocPrunerError(f"{option} is for files; {wish.what} has its pages encoded already")
    if wish.page is not None and wish.span is not None and (not is_index or "#" in wish.page):
        raise DocPrunerError("--page is one page, --pages are many; give one of the two")
