"""`docpruner explain FILE`: pages are encoded for it, no index is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from docpruner.cli.explaining import Outcome, Wish
from docpruner.cli.explaining_pages import Pages, draw
from docpruner.encoders.registry import load_encoder
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import Look, look
from docpruner.explain.reading import drawn_pages, encoded_pages, page_count, page_numbers
from docpruner.facade import DEFAULT_SPEC
from docpruner.reduce import reducer


def explain_file(wish: Wish) -> Outcome:
    path = wish.what
    if path.is_dir():
        raise DocPrunerError(
            f"{path} is a folder without an index; give a file, or make an index: docpruner index "
            f"my.idx {path}"
        )
    spec = f"docpruner:k={wish.factor}" if wish.factor is not None else wish.spec or DEFAULT_SPEC
    reduce = reducer(spec)
    numbers = page_numbers(path, page_count(path), _wanted(wish))
    encoder = load_encoder(
        wish.encoder or "builtin",
        device=wish.device,
        trust_remote_code=wish.trust_remote_code,
        prompt="noise-filtering" if reduce.prompt == "noise-filtering" else None,
    )

    def looks(numbers: Sequence[int]) -> Iterator[Look | PageError]:
        for page in encoded_pages(path, numbers, encoder, ocr=wish.ocr):
            yield page if isinstance(page, PageError) else look(page, str(reduce))

    return draw(
        Pages(
            document=str(Path(path).resolve()),
            numbers=numbers,
            encoder=encoder.name,
            spec=str(reduce),
            looks=looks,
            images=lambda numbers, pixels: drawn_pages(path, numbers, pixels),
        ),
        wish,
    )


def _wanted(wish: Wish) -> tuple[int, int | None]:
    if wish.page is None:
        return wish.span or (1, None)
    if not wish.page.isdecimal():
        raise DocPrunerError(f"--page {wish.page} is no number of a page; write for example 3")
    return int(wish.page), int(wish.page)
