"""`docpruner explain INDEX --hit QUERY`: what of the best pages answers a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from docpruner.cli.arguments import NOTHING, SOME, read_query
from docpruner.cli.explain.explain_index import check_file, document_and_number
from docpruner.cli.explain.file_pages import drawn_pages
from docpruner.cli.explain.outcome import Outcome, save
from docpruner.cli.explain.request import ExplainRequest
from docpruner.cli.hit_tables import HitView, views_of
from docpruner.cli.output import plain, shortened, styled
from docpruner.cli.tables import headed_table
from docpruner.errors import PageError
from docpruner.explain import PIXELS, answers, hit_picture, word_number
from docpruner.facade import Index
from docpruner.hits import Hit

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

LISTED = 0.1  # of the best word's score
MOST_LISTED = 20  # words
NOWHERE = "a special token, which is nowhere on the page"


def explain_hits(request: ExplainRequest) -> Outcome:
    with Index.open(
        request.subject, device=request.device, trust_remote_code=request.trust_remote_code
    ) as index:
        hits = _hits(index, request)
        views = views_of(index, hits)
        drawn = [_drawn(index, hit, rank, len(hits), request) for rank, hit in enumerate(hits, 1)]
    problems = [each for each in drawn if isinstance(each, PageError)]
    if hits and len(problems) == len(hits):
        raise problems[0]
    entries = [_values(rank, *each) for rank, each in enumerate(zip(views, drawn, strict=True), 1)]
    parts: list[Table | Text | str] = [part for view in views for part in _parts(view)]
    return Outcome(
        pictures=[each for each in drawn if isinstance(each, Path)],
        values={"query": request.query, "word": request.word, "hits": entries},
        parts=parts or ["No page to show; is the index empty, or --page another document?"],
        problems=problems,
        status=NOTHING if not hits else SOME if problems else 0,
    )


def _hits(index: Index, request: ExplainRequest) -> list[Hit]:
    """The best pages; with `--page`, of that document or that page alone."""
    document, number = (None, None)
    if request.page is not None:
        document, number = document_and_number(index, request)
    return index.search(
        read_query(request.query or ""),
        request.hits or 1,
        documents=() if document is None else document,
        pages=request.pages if number is None else (number, number),
    )


def _drawn(index: Index, hit: Hit, rank: int, of: int, request: ExplainRequest) -> Path | PageError:
    """The picture of a hit; a file that is gone or can't be read costs that picture only."""
    word = None if request.word is None else word_number(hit, request.word)
    try:
        check_file(index, hit.document)
    except PageError as problem:
        return problem
    (image,) = drawn_pages(Path(index.file_of(hit.document)), [hit.page], PIXELS)
    if isinstance(image, PageError):
        return image
    picture = hit_picture(hit, word=word, image=image)
    return save(picture, request, hit.document, f"p{hit.page}-match", rank, of)


def _values(rank: int, view: HitView, picture: Path | PageError) -> dict[str, Any]:
    hit = view.hit
    texts = {answer.number: answer.text for answer in answers(hit, view.words)}
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


def _parts(view: HitView) -> list[Table | Text | str]:
    hit = view.hit
    placed = {answer.number: answer for answer in answers(hit, view.words)}
    words = sorted(enumerate(hit.matches), key=lambda one: -one[1].score)
    table = headed_table()
    table.add_column("word", style="bold", no_wrap=True)
    table.add_column("score", justify="right", style="green")
    table.add_column("patches", justify="right")
    table.add_column("answered by")
    for number, match in words[:MOST_LISTED]:
        if match.score < LISTED * words[0][1].score:
            break
        answer = placed.get(number)
        word = (match.word if answer is None else answer.word).strip() or "(space)"
        text = NOWHERE if answer is None else answer.text
        row = (shortened(word), f"{match.score:.2f}", str(len(match.boxes)), text)
        table.add_row(*map(plain, row))
    title = styled(f"\n[bold cyan]{{}}#{hit.page}[/]  score [green]{hit.score:.2f}[/]", view.name)
    if not view.really_matches:
        title.append("\nnothing really matches; this page comes nearest", "yellow")
    return [title, table]
