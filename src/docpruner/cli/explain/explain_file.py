"""`docpruner explain FILE`: pages are encoded for it, no index is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from docpruner.cli.explain.file_pages import drawn_pages, encoded_pages, page_count, page_numbers
from docpruner.cli.explain.outcome import Outcome
from docpruner.cli.explain.page_pictures import Pages, draw
from docpruner.cli.explain.request import ExplainRequest
from docpruner.encoders.registry import load_encoder
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import PruningView, pruning_view
from docpruner.facade import DEFAULT_SPEC
from docpruner.pipeline.importance_check import named_for, require_importance
from docpruner.reduce import reducer


def explain_file(request: ExplainRequest) -> Outcome:
    path = Path(request.subject)
    if path.is_dir():
        raise DocPrunerError(
            f"{path} is a folder without an index; give a file, or make an index: docpruner index "
            f"my.idx {path}"
        )
    spec = request.spec or DEFAULT_SPEC if request.k is None else f"docpruner:k={request.k}"
    reduce = reducer(spec)
    numbers = page_numbers(path, page_count(path), _range(request))
    encoder = load_encoder(
        named_for(request.encoder or "builtin", reduce),
        device=request.device,
        trust_remote_code=request.trust_remote_code,
        prompt="noise-filtering" if reduce.prompt == "noise-filtering" else None,
    )
    require_importance(encoder, reduce)

    def views(numbers: Sequence[int]) -> Iterator[PruningView | PageError]:
        for page in encoded_pages(path, numbers, encoder, ocr=request.ocr):
            yield page if isinstance(page, PageError) else pruning_view(page, str(reduce))

    return draw(
        Pages(
            document=str(path.resolve()),
            numbers=numbers,
            encoder=encoder.name,
            spec=str(reduce),
            views=views,
            images=lambda numbers, pixels: drawn_pages(path, numbers, pixels),
        ),
        request,
    )


def _range(request: ExplainRequest) -> tuple[int, int | None]:
    if request.page is None:
        return request.pages or (1, None)
    if not request.page.isdecimal():
        raise DocPrunerError(f"--page {request.page} is not a page number; write for example 3")
    return int(request.page), int(request.page)
