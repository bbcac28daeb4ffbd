"""Pages of a document for `docpruner explain`: one of them large, or many small."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from docpruner.cli.arguments import SOME
from docpruner.cli.explain.outcome import Outcome, save
from docpruner.cli.explain.request import ExplainRequest
from docpruner.cli.output import counting, plain, styled
from docpruner.cli.tables import plain_table
from docpruner.errors import PageError, PruningWarning

if TYPE_CHECKING:
    from PIL.Image import Image

    from docpruner.explain import PruningView

ON_A_SHEET = 60  # pages at most


@dataclass(frozen=True)
class Pages:
    """Some pages of a document, and how to come by them."""

    document: str
    numbers: list[int]
    encoder: str
    spec: str
    views: Callable[[Sequence[int]], Iterable[PruningView | PageError]]
    images: Callable[[Sequence[int], int], Iterable[Image | PageError]]  # by so many pixels

    @property
    def name(self) -> str:
        return Path(self.document).name

    @property
    def values(self) -> dict[str, Any]:
        return {"document": self.document, "encoder": self.encoder, "spec": self.spec}


def draw(pages: Pages, request: ExplainRequest) -> Outcome:
    """A page alone as a large picture, several as sheets."""
    return _draw_page(pages, request) if len(pages.numbers) == 1 else _draw_sheets(pages, request)


def _draw_page(pages: Pages, request: ExplainRequest) -> Outcome:
    from docpruner.explain import PIXELS, page_picture

    (number,) = pages.numbers
    (view,) = pages.views([number])
    if isinstance(view, PageError):
        raise view
    (image,) = pages.images([number], PIXELS)
    if isinstance(image, PageError):
        raise image
    picture = save(page_picture(view, image), request, pages.document, f"p{number}")
    values = {**pages.values, "page": number, **_rounded(view)}
    return Outcome([picture], values, [_page_table(pages, view)])


def _draw_sheets(pages: Pages, request: ExplainRequest) -> Outcome:
    views: list[PruningView | PageError] = []
    pictures = []
    groups = list(_groups(pages.numbers))
    with counting("drawing", quiet=request.quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", PruningWarning)  # a line for every page would be too much
        source = iter(pages.views(pages.numbers))
        for number, group in enumerate(groups, 1):
            images: list[Image] = []
            seen: list[PruningView | PageError] = []
            for view, image in zip(islice(source, len(group)), _images(pages, group), strict=True):
                seen.append(image if isinstance(image, PageError) else view)
                images.append(_blank() if isinstance(image, PageError) else image)
                progress(len(views) + len(seen), len(pages.numbers))
            views += seen
            if not all(isinstance(view, PageError) for view in seen):
                sheet = _sheet(pages, group, seen, images)
                pictures.append(save(sheet, request, pages.document, "pages", number, len(groups)))
    good = [view for view in views if not isinstance(view, PageError)]
    problems = [view for view in views if isinstance(view, PageError)]
    if not good:
        raise problems[0]
    entries = [_described(number, view) for number, view in zip(pages.numbers, views, strict=True)]
    table = _sheet_table(pages, good, len(problems))
    status = SOME if problems else 0
    return Outcome(pictures, {**pages.values, "pages": entries}, [table], problems, status)


def _images(pages: Pages, group: Sequence[int]) -> Iterable[Image | PageError]:
    from docpruner.explain.drawing import sheet_pixels

    return pages.images(group, sheet_pixels(len(group)))


def _sheet(
    pages: Pages,
    group: Sequence[int],
    views: Sequence[PruningView | PageError],
    images: Sequence[Image],
) -> Image:
    from docpruner.explain import sheet_picture

    pieces: list[PruningView | str] = [
        f"page {number}: {view.reason}" if isinstance(view, PageError) else view
        for number, view in zip(group, views, strict=True)
    ]
    return sheet_picture(pieces, images, legend=_sheet_legend(pages, views))


def _groups(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Even parts, so that no sheet holds a page or two alone."""
    sheets = -(-len(numbers) // ON_A_SHEET)
    for sheet in range(sheets):
        yield numbers[len(numbers) * sheet // sheets : len(numbers) * (sheet + 1) // sheets]


def _blank() -> Image:
    from PIL import Image

    return Image.new("RGB", (210, 297), "white")


def _sheet_legend(pages: Pages, views: Sequence[PruningView | PageError]) -> list[tuple[str, str]]:
    good = [view for view in views if not isinstance(view, PageError)]
    patches, kept = sum(view.patches for view in good), sum(int(view.kept.sum()) for view in good)
    share = f" ({kept / patches:.0%})" if patches else ""
    return [
        (pages.name, pages.spec),
        ("patches", f"{patches:,}"),
        ("kept", f"{kept:,}{share}"),
    ]


# ------------------------------------------------------------------ figures


def _rounded(view: PruningView) -> dict[str, float | int | None]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in view.figures.items()
    }


def _described(number: int, view: PruningView | PageError) -> dict[str, Any]:
    if isinstance(view, PageError):
        return {"page": number, "problem": f"{view.reason}; {view.remedy}"}
    return {"page": number, **_rounded(view)}


def _page_table(pages: Pages, view: PruningView) -> Table:
    table = plain_table()
    table.add_row("page", styled("{} as {} sees it", view.name, pages.encoder))
    table.add_row("reduction", plain(pages.spec))
    for name, value in view.legend:
        table.add_row(name, plain(value))
    return table


def _sheet_table(pages: Pages, views: Sequence[PruningView], problems: int) -> Table:
    table = plain_table()
    table.add_row("document", styled("{} as {} sees it", pages.name, pages.encoder))
    table.add_row("reduction", plain(pages.spec))
    missing = f", [yellow]{problems:,} left out[/]" if problems else ""
    table.add_row("pages", f"{len(views):,}{missing}")
    for name, value in _sheet_legend(pages, views)[1:]:
        table.add_row(name, plain(value))
    low, high = (choose(views, key=lambda view: view.share) for choose in (min, max))
    if len(views) > 1:
        table.add_row("per page", f"{_share(low)} to {_share(high)}")
    return table


def _share(view: PruningView) -> str:
    return f"{view.share:.0%} (page {view.name.rpartition('#')[2]})"
