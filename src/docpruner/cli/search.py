"""`docpruner search`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docpruner.cli.arguments import (
    NOTHING,
    DeviceOption,
    IndexArgument,
    MetadataOption,
    OcrLanguageOption,
    TrustOption,
    read_query,
)
from docpruner.cli.output import (
    JsonOption,
    console,
    counted,
    print_json,
    shown_path,
    styled,
)
from docpruner.cli.picture_files import open_picture
from docpruner.search.filters import read_metadata, read_pages

if TYPE_CHECKING:
    from PIL.Image import Image

    from docpruner.facade import Index
    from docpruner.hits import Hit

OCR_PIXELS = 4_000_000  # of a picture whose words are recognised


class Mode(Enum):
    vectors = "vectors"
    text = "text"
    hybrid = "hybrid"


def run(
    index: IndexArgument,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)
    ] = None,
    image: Annotated[
        Path | None,
        typer.Option(
            "--image",
            metavar="FILE",
            help="Look for pages like this picture (or first page of a PDF) instead.",
        ),
    ] = None,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Look for the words on the --image, not for its looks.")
    ] = False,
    ocr_language: OcrLanguageOption = None,
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, help="How many pages to show.")] = 10,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            "-d",
            metavar="GLOB",
            help="Only documents of this name or path. Can be repeated.",
        ),
    ] = None,
    pages: Annotated[
        str | None, typer.Option("--pages", metavar="3-10", help="Only pages of these numbers.")
    ] = None,
    metadata: MetadataOption = None,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", metavar="SCORE", help="Only pages that score this or more."),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            metavar="MODE",
            help="vectors (what the encoder understands), text (the words of the query, by BM25), "
            "or hybrid (both).",
        ),
    ] = Mode.vectors,
    exact: Annotated[
        bool, typer.Option("--exact", help="Score every page, also of a large index.")
    ] = False,
    open_: Annotated[
        bool, typer.Option("--open", help="Open a picture of the best page, its matches lit.")
    ] = False,
    save_images: Annotated[
        Path | None,
        typer.Option("--save-images", metavar="FOLDER", help="Save a picture of every hit."),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(
            "--version", metavar="N", help="The index as it was, in a store that keeps versions."
        ),
    ] = None,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Search an index: the best pages, and what matches on them.

    A match is a word of the query, followed by → and what it matched if that is different: words
    of the page, or the part of the page if it has no words. Scores are sums over the words of the
    query (by text BM25, by both together deviations from their means): they compare pages, not
    queries.

    Exit status: 0 if there are hits, 4 if there are none.

    Example: `docpruner search reports.idx "revenue in 2021" -k 3 --save-images hits`

    Example: `docpruner search manuals.idx "part AX-4711" --mode hybrid`

    Example: `docpruner search plans.idx --image crop.png`
    """
    from docpruner.cli.hit_pictures import Pictures
    from docpruner.cli.hit_tables import show_hits, views_of
    from docpruner.facade import Index

    if (query is None) == (image is None):
        raise typer.BadParameter("give a QUERY or an --image to look for, one of the two")
    by_words = ocr or ocr_language is not None
    if by_words and image is None:
        option = "--ocr" if ocr_language is None else "--ocr-language"
        raise typer.BadParameter(f"{option} recognises the words on an --image; give one")
    with Index.open(
        index, version=version, device=device, trust_remote_code=trust_remote_code
    ) as opened:
        hits = opened.search(
            None if query is None else read_query(query),
            k,
            image=None if image is None else _picture(opened, image, ocr=by_words),
            ocr=ocr if ocr_language is None else ocr_language,
            documents=documents or (),
            pages=read_pages(pages),
            metadata=read_metadata(metadata),
            exact=exact,
            mode=mode.value,
        )
        hits = [hit for hit in hits if min_score is None or hit.score >= min_score]
        judged = mode is Mode.vectors and (image is None or by_words)
        views = views_of(opened, hits, judged=judged)
        missing = opened.missing_shards()
        chosen = hits if save_images is not None else hits[:1] if open_ else []
        pictures = Pictures.of(chosen, save_images)
    if json:
        entries = [
            {**view.to_dict(rank), "picture": pictures.path(view.hit)}
            for rank, view in enumerate(views, 1)
        ]
        asked = {"query": _asked(query, hits), "image": None if image is None else str(image)}
        partial = {"missing_shards": missing} if missing else {}
        print_json({**asked, "mode": mode.value, **partial, "hits": entries})
    elif hits:
        if not any(view.really_matches for view in views):
            console().print("[yellow]Nothing really matches[/]; these pages come nearest:")
        show_hits(views)
    else:
        filters = "filters" if min_score is None else "filters or --min-score"
        empty = "has no page these words" if mode is Mode.text else "is the index empty"
        console().print(f"No pages found; are the {filters} too strict, or {empty}?")
    if save_images is not None and pictures.saved and not json:
        count = counted(len(pictures.saved), "picture")
        console().print(styled(f"{count} in {{}}", shown_path(str(save_images))))
    if pictures.failure is not None:  # now that the hits are told
        raise pictures.failure
    if open_ and pictures.saved:
        open_picture(next(iter(pictures.saved.values())), told=save_images is not None or json)
    raise typer.Exit(0 if hits else NOTHING)


def _picture(index: Index, path: Path, *, ocr: bool) -> Image:
    """Read in a child process, as large as is of use."""
    from docpruner.pages.page_files import PageFiles

    pixels = OCR_PIXELS
    if not ocr and index.reads == "pixels":
        pixels = index.encoder.pixels or OCR_PIXELS
    with closing(PageFiles()) as files:
        return files.picture(str(path.absolute()), 1, pixels)


def _asked(query: str | None, hits: Sequence[Hit]) -> str | None:
    """The query, or the words that were recognised on an image."""
    return query if query is not None or not hits else hits[0].query or None
