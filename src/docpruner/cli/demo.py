"""`docpruner demo`."""

from __future__ import annotations

import json as jsonlib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docpruner.cli.output import JsonOption, console, print_json, shown_path, styled
from docpruner.errors import DocPrunerError

if TYPE_CHECKING:
    from docpruner.facade import Index
    from docpruner.hits import Hit

PRINTED = ("s-12", "s-20", "s-23")  # questions to print with their hits
KEPT = ("annual-report.pdf", 5)  # the page to draw


def run(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write.")] = Path(
        "docpruner-demo"
    ),
    json: JsonOption = False,
) -> None:
    """Try it on sample documents: index, search, and draw two pages.

    The documents are those in FOLDER/documents; the samples are put there if they are missing.

    Example: `docpruner demo`
    """
    from docpruner.cli.hit_tables import show_hits, views_of
    from docpruner.cli.stats import show_stats
    from docpruner.facade import Index

    documents, where = folder / "documents", folder / "index"
    try:
        _provide_samples(documents)
    except OSError as error:
        raise DocPrunerError(f"{folder} can't be written to ({error.strerror})") from error
    questions = _lines(documents / "queries.jsonl")
    with Index.open_or_create(where) as index:
        index.add(documents, ocr=False)  # the same whether or not the extra is installed
        hits = dict(
            zip(
                [question["query_id"] for question in questions],
                index.search_many([question["text"] for question in questions], k=2),
                strict=True,
            )
        )
        views = {} if json else {number: views_of(index, hits[number]) for number in PRINTED}
        stats = index.stats()
        pictures = _draw(index, documents, hits[PRINTED[0]][0], folder)
    right = _right(hits, _lines(documents / "qrels.jsonl"))
    if json:
        values = {"vectors": stats.vectors, "vectors_unpruned": stats.vectors_unpruned}
        values |= {"questions": len(questions), "right": right, "pages": stats.pages}
        print_json({**values, "pictures": [str(picture) for picture in pictures]})
        return
    to = console()
    show_stats(str(where), stats)
    for question in questions:
        if question["query_id"] in PRINTED:
            to.print(styled("\n[bold cyan]{}[/]", question["text"]))
            show_hits(views[question["query_id"]])
    to.print(
        f"The right page comes first for [green]{right} of {len(questions)}[/] questions; "
        f"{stats.pages_without_words} pages have no words: to find those takes --ocr or a model "
        "that sees pictures."
    )
    for picture, what in pictures.items():
        to.print(styled("{}: {}", shown_path(str(picture)), what))


def _provide_samples(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for sample in files("docpruner").joinpath("samples").iterdir():
        if not (folder / sample.name).exists():
            (folder / sample.name).write_bytes(sample.read_bytes())


def _draw(index: Index, documents: Path, hit: Hit, folder: Path) -> dict[Path, str]:
    """The pictures, and what is on each."""
    from docpruner.explain import hit_picture, page_picture

    name, number = KEPT
    stored = index.page(str(documents.resolve() / name), number)
    assert stored is not None  # added just now
    kept, match = folder / "kept.png", folder / "match.png"
    page_picture(stored).save(kept)
    hit_picture(hit).save(match)
    return {
        kept: f"what was kept of {name}#{number}",
        match: f"why {hit.name} answers the first question",
    }


def _right(hits: dict[str, list[Hit]], judgements: list[dict[str, Any]]) -> int:
    """How many questions have a page that answers them as their first hit."""
    answers = {(line["query_id"], f"{line['doc']}#{line['page']}") for line in judgements}
    return sum((number, best[0].name) in answers for number, best in hits.items())


def _lines(file: Path) -> list[dict[str, Any]]:
    return [jsonlib.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
