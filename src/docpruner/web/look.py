"""One page: what is stored of it, what another spec would keep, and how to draw it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from docpruner.explain import hit_picture, judged_by_importance, look, page_picture
from docpruner.web.drawings import Drawing
from docpruner.web.library import Library
from docpruner.web.problems import Refused
from docpruner.web.shapes import PageShape, ReductionShape


def described_page(library: Library, document: int, number: int) -> PageShape:
    entry, stored = library.document(document), library.page(document, number)
    seen = look(stored, stored_with=library.settings.spec)
    return PageShape(
        document=document,
        name=library.name_of(entry),
        page=number,
        pages=entry.pages,
        width=stored.size[0],
        height=stored.size[1],
        words_from=stored.words_from,
        patches=seen.patches,
        kept_vectors=len(stored.vectors),
        vectors=len(stored.map.cells),
        boxes=np.round(seen.boxes.astype(np.float64), 4).tolist(),
        importance=None
        if seen.importance is None
        else [float(f"{value:.9g}") for value in seen.importance.tolist()],
        kept=seen.kept.astype(int).tolist(),
        mean=seen.mean,
        std=seen.deviation,
        entropy=seen.entropy,
        threshold=seen.tau,
    )


def described_reduction(library: Library, document: int, number: int, spec: str) -> ReductionShape:
    settings = library.settings
    wanted = str(judged_by_importance(spec, importances=settings.importances))
    stored = library.page(document, number)
    seen = look(stored, wanted, stored_with=settings.spec)
    vectors = (seen.vectors or 0) + int(stored.map.special.sum())
    return ReductionShape(
        spec=wanted,
        kept=seen.kept.astype(int).tolist(),
        vectors=vectors,
        bytes=vectors * settings.row_bytes,
        threshold=seen.tau,
    )


def page_drawing(
    library: Library,
    document: int,
    number: int,
    width: int,
    overlay: Literal["kept", "match"] | None,
    query: str | None,
    word: int | None,
) -> Drawing:
    """A picture to be made; what lies over the page is looked for only when it is."""
    page = library.page(document, number)
    if overlay is None:
        return Drawing(page, width)
    if overlay == "kept":
        seen = look(page, stored_with=library.settings.spec)
        what = f"kept {page.checksum}"
        return Drawing(page, width, lambda image: page_picture(seen, image), what)
    if query is None or not query.strip():
        raise Refused(422, "overlay=match needs q, the query whose matches to show")
    asked = query
    return Drawing(
        page,
        width,
        lambda image: hit_picture(
            library.hit(asked, document, number, word), word=word, image=image
        ),
        f"match {page.checksum} {word} {query}",
    )
