"""`docpruner explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docpruner.cli.arguments import DeviceOption, OcrLanguageOption, TrustOption, read_ocr
from docpruner.cli.output import JsonOption


def run(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FILE|INDEX",
            help="A PDF, PNG, JPEG, TIFF or WebP file, or an index.",
            show_default=False,
        ),
    ],
    page: Annotated[
        str | None,
        typer.Option(
            metavar="3|NAME#3",
            help="The page to draw. Of an index: the document's name and the number, or the name "
            "alone for all its pages.",
        ),
    ] = None,
    pages: Annotated[
        str | None,
        typer.Option(metavar="3-10", help="The pages for a contact sheet. [default: all]"),
    ] = None,
    hit: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="Draw what answers a query on the best pages."),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option("-k", metavar="N", min=1, help="With --hit: how many pages. [default: 1]"),
    ] = None,
    word: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="With --hit: only this word of the query."),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="How to reduce pages; see `docpruner strategies`. [default: docpruner:k=-0.25, or "
            "the index's own]",
        ),
    ] = None,
    k: Annotated[
        float | None,
        typer.Option("--k", metavar="NUMBER", help="Short for --spec docpruner:k=NUMBER."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For a file: builtin, a Hugging Face repository or a folder. [default: builtin]",
        ),
    ] = None,
    ocr: Annotated[
        bool | None,
        typer.Option(
            "--ocr/--no-ocr",
            help="For a file: recognise the words of scans (extra ocr). [default: as for index]",
        ),
    ] = None,
    ocr_language: OcrLanguageOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.png", help="Where to draw. [default: here]"),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the picture.")] = False,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Draw what pruning keeps of a page, or what on it answers a query.

    Of a file: one page, or a contact sheet of all. Of an index: the same from what it stores, and
    with --k what another factor would keep. With --hit: the patches that answer each word of a
    query, after pruning.

    Exit status: 0 if everything was drawn, 3 if only some pages were, 4 if a query has no hit.

    Example: `docpruner explain report.pdf --page 3 --k 0.25`

    Example: `docpruner explain reports.idx --hit "revenue in 2021" -k 3`
    """
    from docpruner.cli.explain.request import ExplainRequest
    from docpruner.facade import Index
    from docpruner.search.filters import read_pages

    request = ExplainRequest(
        subject=subject,
        is_index=Index.exists(subject),
        page=page,
        pages=read_pages(pages),
        query=hit,
        hits=best,
        word=word,
        spec=spec,
        k=k,
        encoder=encoder,
        ocr=read_ocr(ocr, ocr_language),
        output=output,
        device=device,
        trust_remote_code=trust_remote_code,
        quiet=json,
    )
    request.check()
    if not request.is_index:
        from docpruner.cli.explain.explain_file import explain_file as explain
    elif hit is None:
        from docpruner.cli.explain.explain_index import explain_stored as explain
    else:
        from docpruner.cli.explain.explain_hits import explain_hits as explain
    explain(request).show(open_=open_, json=json)
