"""`docpruner explain INDEX`: pages as they are stored, and what of them answers a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from docpruner.cli.arguments import NOTHING, SOME, open_index
from docpruner.cli.explaining import Outcome, Wish, save
from docpruner.cli.explaining_pages import Pages, draw
from docpruner.cli.output import shown_path
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import PIXELS, Look, answers, hit_picture, look, word_number
from docpruner.explain.look import with_k
from docpruner.explain.reading import drawn_pages, page_numbers
from docpruner.facade import Index
from docpruner.index.snapshot import matches
from docpruner.reduce import reducer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from docpruner.types import Hit

LISTED = 0.1  # of the best word's score
NOWHERE = "a special token, which is nowhere on the page"


def explain_stored(wish: Wish) -> Outcome:
    with Index.open(wish.what) as index:
        document, number = _document(index, wish)
        own = index.settings.spec
        spec = own if wish.spec is None else str(reducer(wish.spec))
        if wish.factor is not None:
            spec = with_k(own, wish.factor)
        _check_file(index, document)

        def looks(numbers: Sequence[int]) -> Iterator[Look | PageError]:
            for each in numbers:
                yield _look(index, document, each, spec, own)

        return draw(
            Pages(
                document=document,
                numbers=_numbers(index, document, number, wish),
                encoder=index.settings.encoder,
                spec=spec,
                looks=looks,
                images=lambda numbers, pixels: drawn_pages(Path(document), numbers, pixels),
            ),
            wish,
        )


def _document(index: Index, wish: Wish) -> tuple[str, int | None]:
    """The path of the document meant by `--page`, and the number of a page."""
    paths = [entry.path for entry in index.documents()]
    example = Path(paths[0]).name if paths else "report.pdf"
    if wish.page is None:
        raise DocPrunerError(
            f"{wish.what} is an index: say which page to draw (--page {example}#1), of which "
            f'document to draw all (--page {example}), or what was looked for (--hit "a query")'
        )
    name, sign, number = wish.page.rpartition("#")
    if not (sign and number.isdecimal()):
        name, number = wish.page, ""
    found = [path for path in paths if matches(path, name)]
    if not found:
        raise DocPrunerError(
            f"no document {name} in {wish.what}; write --page NAME#3, for example {example}#1"
        )
    if len(found) > 1:
        some = " and ".join(found[:2])
        raise DocPrunerError(f"{name} fits {len(found)} documents, {some}; write more of the path")
    return found[0], int(number) if number else None


def _numbers(index: Index, document: str, number: int | None, wish: Wish) -> list[int]:
    (count,) = (entry.pages for entry in index.documents() if entry.path == document)
    wanted = (number, number) if number is not None else wish.span or (1, None)
    return page_numbers(Path(document), count, wanted)


def _look(index: Index, document: str, number: int, spec: str, own: str) -> Look | PageError:
    page = index.page(document, number)
    folder = index.folder
    if page is None:
        remedy = f"index it again: docpruner index {folder} {document}"
        return PageError(document, "is not in the index", remedy, number)
    if page.words_from == "nowhere" and index.settings.encoder.startswith("builtin"):
        remedy = f"recognise them: docpruner index {folder} {document} --ocr"
        return PageError(document, "was indexed without words", remedy, number)
    return look(page, spec, stored_with=own)


def _check_file(index: Index, document: str) -> None:
    """The picture comes from the file, the figures from the index: they must be of one version."""
    if not index.is_up_to_date(document):
        typer.echo(
            f"warning: {shown_path(document)} has changed since it was indexed, so the picture "
            f"may be wrong; bring it up to date: docpruner index {index.folder} {document}",
            err=True,
        )


# ------------------------------------------------------------------ hits


def explain_hits(wish: Wish) -> Outcome:
    with open_index(
        wish.what, device=wish.device, trust_remote_code=wish.trust_remote_code
    ) as index:
        hits = _hits(index, wish)
        drawn = [_drawn(index, hit, rank, len(hits), wish) for rank, hit in enumerate(hits, 1)]
    problems = [found for found in drawn if isinstance(found, PageError)]
    if hits and len(problems) == len(hits):
        raise problems[0]
    told = [_told(rank, *each) for rank, each in enumerate(zip(hits, drawn, strict=True), 1)]
    shown: list[RenderableType] = [part for hit in hits for part in _shown(hit)]
    return Outcome(
        pictures=[found for found in drawn if isinstance(found, Path)],
        told={"query": wish.hit, "word": wish.word, "hits": told},
        shown=shown or ["No page to show; is the index empty, or --page another document?"],
        problems=problems,
        status=NOTHING if not hits else SOME if problems else 0,
    )


def _hits(index: Index, wish: Wish) -> list[Hit]:
    """The best pages; with `--page`, of that document or that page alone."""
    document, number = _document(index, wish) if wish.page is not None else (None, None)
    return index.search(
        wish.hit or "",
        wish.best or 1,
        documents=() if document is None else document,
        pages=wish.span if number is None else (number, number),
    )


def _drawn(index: Index, hit: Hit, rank: int, of: int, wish: Wish) -> Path | PageError:
    """The picture of a hit; a file that is gone or can't be read costs that picture only."""
    word = None if wish.word is None else word_number(hit, wish.word)
    try:
        _check_file(index, hit.document)
    except PageError as problem:
        return problem
    (image,) = drawn_pages(Path(hit.document), [hit.page], PIXELS)
    if isinstance(image, PageError):
        return image
    picture = hit_picture(hit, word=word, image=image)
    return save(picture, wish, hit.document, f"p{hit.page}-match", rank, of)


def _told(rank: int, hit: Hit, picture: Path | PageError) -> dict[str, Any]:
    texts = {answer.number: answer.text for answer in answers(hit)}
    return {
        "rank": rank,
        "document": hit.document,
        "page": hit.page,
        "score": round(hit.score, 4),
        "picture": None if isinstance(picture, PageError) else str(picture),
        "words": [
            {
                "word": match.word,
                "score": round(match.score, 4),
                "patches": len(match.boxes),
                "answered_by": texts.get(number),
                "boxes": [[round(edge, 4) for edge in rectangle] for rectangle in match.boxes],
            }
            for number, match in enumerate(hit.matches)
        ],
    }


def _shown(hit: Hit) -> list[RenderableType]:
    placed = {answer.number: answer for answer in answers(hit)}
    words = sorted(enumerate(hit.matches), key=lambda one: -one[1].score)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("word", style="bold")
    table.add_column("score", justify="right", style="green")
    table.add_column("patches", justify="right")
    table.add_column("answered by")
    for number, match in words:
        if match.score < LISTED * words[0][1].score:
            break
        answer = placed.get(number)
        word = (match.word if answer is None else answer.word).strip() or "(space)"
        text = NOWHERE if answer is None else answer.text
        row = (word, f"{match.score:.2f}", str(len(match.boxes)), text)
        table.add_row(*map(escape, row))
    title = f"\n[bold cyan]{escape(hit.name)}[/]  score [green]{hit.score:.2f}[/]"
    return [title, table]
