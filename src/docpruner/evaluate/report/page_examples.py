"""Pages for the report, drawn as the default setting keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.evaluate.measuring.encoded import EncodedData
from docpruner.evaluate.measuring.methods import DEFAULT
from docpruner.evaluate.measuring.results import Results
from docpruner.reduce.threshold import unwarned
from docpruner.stores.records import PageName

if TYPE_CHECKING:
    from PIL import Image

MOST_PAGES = 6
LARGEST = 1000  # pixels of a side


@dataclass(frozen=True)
class Example:
    """A page to show, as a picture."""

    title: str
    caption: str
    png: bytes


def examples(encoded: EncodedData, results: Results) -> list[Example]:
    """Pages that answer the queries which the default setting hurts, helps and leaves alone."""
    after = results.per_query.get(str(DEFAULT))
    if after is None:
        return []
    before = results.per_query[results.base.name]
    pages = dict(zip(encoded.page_ids, encoded.pages, strict=True))
    drawn: dict[str, Example] = {}
    for query in _telling({query: after[query] - before[query] for query in after}):
        answer = next((page for page in encoded.data.qrels[query] if page in pages), None)
        if answer is None or answer in drawn:
            continue
        try:
            picture = _picture(encoded, pages[answer])
        except PageError:
            continue
        caption = f"“{results.texts[query]}” {before[query]:.2f} → {after[query]:.2f}"
        drawn[answer] = Example(answer, caption, png(picture))
    return list(drawn.values())[:MOST_PAGES]


def png(picture: Image.Image) -> bytes:
    """For an `Example`: no larger than a report shows it."""
    small = picture.convert("RGB")
    small.thumbnail((LARGEST, LARGEST))
    content = BytesIO()
    small.save(content, "PNG", optimize=True)
    return content.getvalue()


def _telling(changes: dict[str, float]) -> list[str]:
    """The queries with the largest losses, those in the middle, those with the largest gains."""
    ranked = sorted(changes, key=lambda query: (changes[query], query))
    middle = len(ranked) // 2
    return list(dict.fromkeys([*ranked[:2], *ranked[middle - 1 : middle + 1], *ranked[-2:]]))


def _picture(encoded: EncodedData, name: PageName) -> Image.Image:
    from docpruner.explain import page_picture, pruning_view

    (page,) = encoded.embeddings([name])
    with unwarned():
        view = pruning_view(page, DEFAULT.spec)
    return page_picture(view, encoded.data.pages.picture(name))
