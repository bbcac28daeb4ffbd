"""Pages as pictures: what was kept of them, and why they matched."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from PIL.Image import Image

from docpruner.errors import DocPrunerError
from docpruner.explain.answers import word_number
from docpruner.explain.pruning_view import PruningView, pruning_view
from docpruner.hits import Hit
from docpruner.hits import PageFiles as HitFiles
from docpruner.pages.page_files import PageFiles
from docpruner.pictures import contact_sheet, kept_picture, match_picture
from docpruner.pictures.kept_patches import kept_key
from docpruner.pictures.legend import pairs, with_legend
from docpruner.pictures.thumbnails import columns_for, thumbnail_side
from docpruner.stores.records import StoredPage
from docpruner.types import PageEmbedding

PIXELS = 1_500_000  # of a drawn page
SHEET_WIDTH, THUMBNAIL = 1600, 560  # at most
SHEET_LETTERS = 18
FINER = 1.5  # than it will be, each way: letters shrink better than they are drawn small


def page_picture(
    page: PageEmbedding | StoredPage | PruningView,
    image: Image | None = None,
    *,
    spec: str | None = None,
) -> Image:
    """The page with what is kept clear, tinted by importance, and what is pruned faint.

    `spec` is that of `pruning_view`. A page of an index is drawn from its document if there is no
    `image`.
    """
    if image is None:
        image = _drawn(page, PIXELS)
    seen = page if isinstance(page, PruningView) else pruning_view(page, spec)
    return kept_picture(image, seen.boxes, seen.importance, seen.kept, legend=seen.legend)


def sheet_picture(
    pages: Sequence[PageEmbedding | StoredPage | PruningView | str],
    images: Sequence[Image] | None = None,
    *,
    spec: str | None = None,
    legend: Sequence[tuple[str, str]] = (),
) -> Image:
    """Many pages on one sheet, each with the share of it that is kept.

    What stands for a page may be a text too, to say why it can't be shown.
    """
    if images is None:
        images = [_drawn(page, sheet_pixels(len(pages))) for page in pages]
    if len(images) != len(pages):
        raise DocPrunerError(f"{len(images)} images for {len(pages)} pages; give one for each")
    seen = [
        page if isinstance(page, PruningView | str) else pruning_view(page, spec) for page in pages
    ]
    drawn = [
        image
        if isinstance(page, str)
        else kept_picture(image, page.boxes, page.importance, page.kept, key=False)
        for page, image in zip(seen, images, strict=True)
    ]
    captions = [
        page if isinstance(page, str) else f"{_short(page.name)}: {page.share:.0%} kept"
        for page in seen
    ]
    columns, width = _layout(len(pages))
    sheet = contact_sheet(drawn, captions, columns=columns, width=width)
    ordered = any(isinstance(page, PruningView) and page.importance is not None for page in seen)
    size = min(SHEET_LETTERS, width // 30)
    return with_legend(sheet, size, [*pairs(legend), *kept_key(size, width, ordered)])


def sheet_pixels(count: int) -> int:
    """How many pixels a page is worth on a sheet of so many."""
    columns, width = _layout(count)
    return round(1.4 * (FINER * thumbnail_side(columns, width)) ** 2)


def _layout(count: int) -> tuple[int, int]:
    columns = columns_for(max(1, count))
    return columns, min(SHEET_WIDTH, THUMBNAIL * columns)


def hit_picture(hit: Hit, *, word: int | str | None = None, image: Image | None = None) -> Image:
    """The page of a hit with the places lit that answer the query, or one `word` of it.

    All patches behind a merged vector light up. The page is drawn from its document if there is no
    `image` of it.
    """
    number = word_number(hit, word) if isinstance(word, str) else word
    if image is None:
        image = _picture(hit.document, hit.page, PIXELS, hit.files)
    legend = [(hit.name, f"score {hit.score:.2f}")]
    return match_picture(image, hit.matches, word=number, legend=legend)


def _drawn(page: PageEmbedding | StoredPage | PruningView | str, pixels: int) -> Image:
    if isinstance(page, StoredPage):
        return _picture(page.document, page.number, pixels)
    name = page if isinstance(page, str) else page.name
    raise DocPrunerError(f"{name}: only a page of an index knows its document; give its image")


def _picture(document: str, number: int, pixels: int, files: HitFiles | None = None) -> Image:
    if files is not None:
        return files.picture(document, number, pixels)
    with closing(PageFiles()) as own:
        return own.picture(document, number, pixels)


def _short(name: str) -> str:
    """The number alone of `report.pdf#3`, which is in the legend once."""
    return f"page {number}" if (number := name.rpartition("#")[2]).isdigit() else name
