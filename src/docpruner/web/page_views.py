"""One page: what is stored of it, and how to draw it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from PIL.Image import Image

from docpruner.explain import hit_picture, page_picture, pruning_view
from docpruner.web.drawings import Drawing
from docpruner.web.error_responses import Refused
from docpruner.web.index_view import IndexView
from docpruner.web.schemas import PageResponse


def page_response(view: IndexView, document: str, number: int) -> PageResponse:
    entry, stored = view.page(document, number)
    pruning = pruning_view(stored, stored_with=view.index.settings.spec)
    importance = pruning.importance
    return PageResponse(
        document=document,
        name=view.documents().name_of(entry.name),
        page=number,
        pages=entry.pages,
        width=stored.size[0],
        height=stored.size[1],
        words_from=stored.words_from,
        patches=pruning.patches,
        kept_vectors=len(stored.vectors),
        vectors=len(stored.provenance.cells),
        boxes=np.round(pruning.boxes.astype(np.float64), 4).tolist(),
        importance=None
        if importance is None
        else [float(f"{value:.9g}") for value in importance.tolist()],
        kept=pruning.kept.astype(int).tolist(),
        mean=pruning.mean,
        std=pruning.deviation,
        entropy=pruning.entropy,
        threshold=pruning.tau,
    )


def page_drawing(
    view: IndexView,
    document: str,
    number: int,
    width: int,
    overlay: Literal["kept", "match"] | None,
    query: str | None,
    word: int | None,
) -> Drawing:
    """A picture to be made; what lies over the page is worked out only when it is."""
    entry, page = view.page(document, number)
    if overlay is None:
        return Drawing(entry, page, width)
    if overlay == "kept":
        pruning = pruning_view(page, stored_with=view.index.settings.spec)
        what = f"kept {page.fingerprint}"
        return Drawing(entry, page, width, lambda image: page_picture(pruning, image), what)
    if query is None or not query.strip():
        raise Refused(422, "overlay=match needs q, the query whose matches to show")
    asked = query

    def lit(image: Image) -> Image:
        hit = view.hit_on(asked, document, number)
        if word is not None and word >= len(hit.matches):
            raise Refused(422, f"word: the query has {len(hit.matches)}, counted from 0")
        return hit_picture(hit, word=word, image=image)

    return Drawing(entry, page, width, lit, f"match {page.fingerprint} {word} {query}")
