"""`docpruner explain INDEX`: pages as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from docpruner.cli.explain.file_pages import drawn_pages, page_numbers
from docpruner.cli.explain.outcome import Outcome
from docpruner.cli.explain.page_pictures import Pages, draw
from docpruner.cli.explain.request import ExplainRequest
from docpruner.cli.output import print_warning, shown_path
from docpruner.encoders.registry import EncoderName
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import PruningView, pruning_view
from docpruner.explain.pruning_view import with_k
from docpruner.facade import Index
from docpruner.reduce import reducer
from docpruner.search.filters import matching


def explain_stored(request: ExplainRequest) -> Outcome:
    with Index.open(request.subject) as index:
        document, number = document_and_number(index, request)
        own = index.settings.spec
        spec = own if request.spec is None else str(reducer(request.spec))
        if request.k is not None:
            spec = with_k(own, request.k)
        check_file(index, document)
        path = Path(index.file_of(document))

        def views(numbers: Sequence[int]) -> Iterator[PruningView | PageError]:
            for each in numbers:
                yield _view(index, document, each, spec, own)

        return draw(
            Pages(
                document=document,
                numbers=_numbers(index, document, number, request),
                encoder=index.settings.encoder,
                spec=spec,
                views=views,
                images=lambda numbers, pixels: drawn_pages(path, numbers, pixels),
            ),
            request,
        )


def document_and_number(index: Index, request: ExplainRequest) -> tuple[str, int | None]:
    """The document meant by `--page`, and the number of a page."""
    names = [entry.name for entry in index.documents()]
    example = Path(names[0]).name if names else "report.pdf"
    if request.page is None:
        raise DocPrunerError(
            f"{request.subject} is an index: say which page to draw (--page {example}#1), of which "
            f'document to draw all pages (--page {example}), or what to look for (--hit "a query")'
        )
    name, sign, number = request.page.rpartition("#")
    if not (sign and number.isdecimal()):
        name, number = request.page, ""
    fitting = matching(names, [name])
    if not fitting:
        raise DocPrunerError(
            f"no document {name} in {request.subject}; write --page NAME#3, for example {example}#1"
        )
    if len(fitting) > 1:
        some = " and ".join(fitting[:2])
        raise DocPrunerError(
            f"{name} fits {len(fitting)} documents, such as {some}; write more of the path"
        )
    return fitting[0], int(number) if number else None


def _numbers(index: Index, document: str, number: int | None, request: ExplainRequest) -> list[int]:
    (count,) = (entry.pages for entry in index.documents() if entry.name == document)
    asked = (number, number) if number is not None else request.pages or (1, None)
    return page_numbers(Path(document), count, asked)


def _view(index: Index, document: str, number: int, spec: str, own: str) -> PruningView | PageError:
    page = index.page(document, number)
    again = f"docpruner index {index.location} {document}"
    if page is None:
        return PageError(document, "is not in the index", f"index it again: {again}", number)
    reads_words = EncoderName.read(index.settings.encoder).reads == "words"
    if page.words_from == "nowhere" and reads_words:
        remedy = f"recognise them: {again} --ocr"
        return PageError(document, "was indexed without words", remedy, number)
    return pruning_view(page, spec, stored_with=own)


def check_file(index: Index, document: str) -> None:
    """The picture comes from the file, the figures from the index: they must be of one version."""
    if not index.is_up_to_date(document):
        print_warning(
            f"{shown_path(document)} has changed since it was indexed, so the picture may be "
            f"wrong; bring it up to date: docpruner index {index.location} {document}"
        )
