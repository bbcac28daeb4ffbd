"""`docpruner search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docpruner.cli.arguments import (
    NOTHING,
    DeviceOption,
    IndexArgument,
    MetadataOption,
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


def run(
    index: IndexArgument,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)
    ],
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
    device: DeviceOption = None,
    trust_remote_code: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Search an index: the best pages, and what matches on them.

    A match is a word of the query, followed by → and what it matched if that is different: words
    of the page, or the part of the page if it has no words. Scores are sums over the words of the
    query: they compare pages, not queries.

    Exit status: 0 if there are hits, 4 if there are none.

    Example: `docpruner search reports.idx "revenue in 2021" -k 3 --save-images hits`
    """
    from docpruner.cli.hit_pictures import Pictures
    from docpruner.cli.hit_tables import show_hits, views_of
    from docpruner.facade import Index

    with Index.open(index, device=device, trust_remote_code=trust_remote_code) as opened:
        hits = opened.search(
            read_query(query),
            k,
            documents=documents or (),
            pages=read_pages(pages),
            metadata=read_metadata(metadata),
            exact=exact,
        )
        hits = [hit for hit in hits if min_score is None or hit.score >= min_score]
        views, missing = views_of(opened, hits), opened.missing_shards()
        chosen = hits if save_images is not None else hits[:1] if open_ else []
        pictures = Pictures.of(chosen, save_images)
    if json:
        entries = [
            {**view.to_dict(rank), "picture": pictures.path(view.hit)}
            for rank, view in enumerate(views, 1)
        ]
        partial = {"missing_shards": missing} if missing else {}
        print_json({"query": query, **partial, "hits": entries})
    elif hits:
        if not any(view.really_matches for view in views):
            console().print("[yellow]Nothing really matches[/]; these pages come nearest:")
        show_hits(views)
    else:
        filters = "filters" if min_score is None else "filters or --min-score"
        console().print(f"No pages found; are the {filters} too strict, or is the index empty?")
    if save_images is not None and pictures.saved and not json:
        count = counted(len(pictures.saved), "picture")
        console().print(styled(f"{count} in {{}}", shown_path(str(save_images))))
    if pictures.failure is not None:  # now that the hits are told
        raise pictures.failure
    if open_ and pictures.saved:
        open_picture(next(iter(pictures.saved.values())), told=save_images is not None or json)
    raise typer.Exit(0 if hits else NOTHING)
