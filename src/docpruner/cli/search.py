"""`docpruner search`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from docpruner.cli.arguments import (
    NOTHING,
    DeviceOption,
    IndexArgument,
    MetadataOption,
    TrustOption,
    open_index,
)
from docpruner.cli.output import JsonOption, console, print_json, shown_path
from docpruner.errors import DocPrunerError, PageError
from docpruner.search.filters import read_metadata, read_pages

if TYPE_CHECKING:
    from docpruner.types import Hit


def run(
    index: IndexArgument,
    query: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    k: Annotated[int, typer.Option("-k", min=1, help="How many pages to show.")] = 10,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            "-d",
            metavar="GLOB",
            help="Only documents of this name or path; may be given several times.",
        ),
    ] = None,
    pages: Annotated[
        str | None, typer.Option("--pages", metavar="3-10", help="Only pages of these numbers.")
    ] = None,
    metadata: MetadataOption = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open a picture of the best page, its matches lit.")
    ] = False,
    save_images: Annotated[
        Path | None,
        typer.Option("--save-images", metavar="FOLDER", help="Save a picture of every hit."),
    ] = None,
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Search an index: the best pages, and the words on them that match.

    A match is a word of the query, and after → what it matched if that is not the same: words of
    the page, or a part of it where it has no words.

    Exit status: 0 if there are hits, 4 if there is none.

    Example: `docpruner search reports.idx "revenue in 2021" -k 3 --save-images hits`
    """
    with open_index(index, device=device, trust_remote_code=trust_remote_code) as opened:
        hits = opened.search(
            query,
            k,
            documents=documents or (),
            pages=read_pages(pages),
            metadata=read_metadata(metadata),
        )
    pictures = _save(hits[: 1 if save_images is None else None], save_images, open_)
    if json:
        shown = [_described(rank, hit, pictures) for rank, hit in enumerate(hits, 1)]
        print_json({"query": query, "hits": shown})
    elif hits:
        show_hits(hits)
    else:
        console().print("No page to show; are the filters too narrow, or the index empty?")
    if save_images is not None and pictures and not json:
        console().print(f"{len(pictures)} pictures in {escape(shown_path(str(save_images)))}")
    if open_ and pictures:
        typer.launch(str(next(iter(pictures.values()))))
    raise typer.Exit(0 if hits else NOTHING)


def show_hits(hits: Sequence[Hit]) -> None:
    from docpruner.explain import matched_words

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("", style="dim", justify="right")
    table.add_column("document", style="bold", overflow="fold", max_width=40)
    table.add_column("page", justify="right")
    table.add_column("score", justify="right", style="green")
    table.add_column("matched")
    paths = {hit.document for hit in hits}
    alone = len({Path(path).name for path in paths}) == len(paths)  # names say which is meant
    for rank, hit in enumerate(hits, 1):
        matched = "  ".join(_pair(word, text) for word, text in matched_words(hit))
        name = Path(hit.document).name if alone else shown_path(hit.document)
        table.add_row(str(rank), escape(name), str(hit.page), f"{hit.score:.2f}", matched)
    console().print(table)


def _pair(word: str, text: str) -> str:
    same = word.casefold() == text.casefold()
    return escape(word) if same else f"{escape(word)}[dim]→[/]{escape(text)}"


def _save(hits: Sequence[Hit], folder: Path | None, wanted: bool) -> dict[str, Path]:
    """The pictures of hits, by their names; files that are gone can't be drawn."""
    if folder is None and not wanted:
        return {}
    from docpruner.explain import hit_picture

    folder = folder or Path(tempfile.mkdtemp(prefix="docpruner-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DocPrunerError(
            f"{folder} can't be made ({error.strerror}); choose another"
        ) from error
    saved = {}
    for rank, hit in enumerate(hits, 1):
        path = folder / f"{rank:02d}-{Path(hit.document).stem[:100]}-p{hit.page}.png"
        try:
            hit_picture(hit).save(path)
        except PageError as problem:
            typer.echo(f"no picture of {hit.name}: {problem}", err=True)
        else:
            saved[f"{hit.document}#{hit.page}"] = path
    return saved


def _described(rank: int, hit: Hit, pictures: dict[str, Path]) -> dict[str, Any]:
    from docpruner.explain import matched_words

    picture = pictures.get(f"{hit.document}#{hit.page}")
    return {
        "rank": rank,
        "document": hit.document,
        "page": hit.page,
        "score": round(hit.score, 4),
        "metadata": dict(hit.metadata),
        "matched": [{"query": word, "page": text} for word, text in matched_words(hit)],
        "matches": [
            {
                "word": match.word,
                "score": round(match.score, 4),
                "boxes": [[round(edge, 4) for edge in rectangle] for rectangle in match.boxes],
            }
            for match in hit.matches
        ],
        "picture": None if picture is None else str(picture),
    }
