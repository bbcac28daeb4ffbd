"""Pages of a document for `docpruner explain`: one of them large, or many small."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from docpruner.cli.arguments import SOME
from docpruner.cli.explaining import Outcome, Wish, save
from docpruner.cli.output import counting
from docpruner.errors import PageError, PruningWarning

if TYPE_CHECKING:
    from PIL.Image import Image

    from docpruner.explain import Look

ON_A_SHEET = 60  # pages at most


@dataclass(frozen=True)
class Pages:
    """Some pages of a document, and how to come by them."""

    document: str
    numbers: list[int]
    encoder: str
    spec: str
    looks: Callable[[Sequence[int]], Iterable[Look | PageError]]
    images: Callable[[Sequence[int], int], Iterable[Image | PageError]]  # by so many pixels

    @property
    def name(self) -> str:
        return Path(self.document).name

    @property
    def told(self) -> dict[str, Any]:
        return {"document": self.document, "encoder": self.encoder, "spec": self.spec}


def draw(pages: Pages, wish: Wish) -> Outcome:
    """A page alone as a large picture, several as sheets."""
    return _draw_page(pages, wish) if len(pages.numbers) == 1 else _draw_sheets(pages, wish)


def _draw_page(pages: Pages, wish: Wish) -> Outcome:
    from docpruner.explain import PIXELS, page_picture

    (number,) = pages.numbers
    (look,) = pages.looks([number])
    if isinstance(look, PageError):
        raise look
    (image,) = pages.images([number], PIXELS)
    if isinstance(image, PageError):
        raise image
    picture = save(page_picture(look, image), wish, pages.document, f"p{number}")
    told = {**pages.told, "page": number, **_rounded(look)}
    return Outcome([picture], told, [_page_table(pages, look)])


def _draw_sheets(pages: Pages, wish: Wish) -> Outcome:
    looks: list[Look | PageError] = []
    pictures = []
    groups = list(_groups(pages.numbers))
    with counting("drawing", quiet=wish.quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", PruningWarning)  # a line for every page would be too much
        source = iter(pages.looks(pages.numbers))
        for number, group in enumerate(groups, 1):
            images: list[Image] = []
            seen: list[Look | PageError] = []
            for look, image in zip(islice(source, len(group)), _images(pages, group), strict=True):
                seen.append(image if isinstance(image, PageError) else look)
                images.append(_blank() if isinstance(image, PageError) else image)
                progress(len(looks) + len(seen), len(pages.numbers))
            looks += seen
            if not all(isinstance(look, PageError) for look in seen):
                sheet = _sheet(pages, group, seen, images)
                pictures.append(save(sheet, wish, pages.document, "pages", number, len(groups)))
    good = [look for look in looks if not isinstance(look, PageError)]
    problems = [look for look in looks if isinstance(look, PageError)]
    if not good:
        raise problems[0]
    entries = [_described(number, look) for number, look in zip(pages.numbers, looks, strict=True)]
    table = _sheet_table(pages, good, len(problems))
    status = SOME if problems else 0
    return Outcome(pictures, {**pages.told, "pages": entries}, [table], problems, status)


def _images(pages: Pages, group: Sequence[int]) -> Iterable[Image | PageError]:
    from docpruner.explain.drawing import sheet_pixels

    return pages.images(group, sheet_pixels(len(group)))


def _sheet(
    pages: Pages, group: Sequence[int], looks: Sequence[Look | PageError], images: Sequence[Image]
) -> Image:
    from docpruner.explain import sheet_picture

    shown: list[Look | str] = [
        f"page {number}: {look.reason}" if isinstance(look, PageError) else look
        for number, look in zip(group, looks, strict=True)
    ]
    return sheet_picture(shown, images, legend=_sheet_legend(pages, looks))


def _groups(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    """Even parts, so that no sheet holds a page or two alone."""
    sheets = -(-len(numbers) // ON_A_SHEET)
    for sheet in range(sheets):
        yield numbers[len(numbers) * sheet // sheets : len(numbers) * (sheet + 1) // sheets]


def _blank() -> Image:
    from PIL import Image

    return Image.new("RGB", (210, 297), "white")


def _sheet_legend(pages: Pages, looks: Sequence[Look | PageError]) -> list[tuple[str, str]]:
    good = [look for look in looks if not isinstance(look, PageError)]
    patches, kept = sum(look.patches for look in good), sum(int(look.kept.sum()) for look in good)
    share = f" ({kept / patches:.0%})" if patches else ""
    return [
        (pages.name, pages.spec),
        ("patches", f"{patches:,}"),
        ("kept", f"{kept:,}{share}"),
    ]


# ------------------------------------------------------------------ figures


def _rounded(look: Look) -> dict[str, float | int | None]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in look.figures.items()
    }


def _described(number: int, look: Look | PageError) -> dict[str, Any]:
    if isinstance(look, PageError):
        return {"page": number, "problem": f"{look.reason}; {look.remedy}"}
    return {"page": number, **_rounded(look)}


def _plain_table() -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column()
    return table


def _page_table(pages: Pages, look: Look) -> Table:
    table = _plain_table()
    table.add_row("page", f"{escape(look.name)} as {escape(pages.encoder)} sees it")
    table.add_row("reduction", escape(pages.spec))
    for name, value in look.legend:
        table.add_row(name, escape(value))
    return table


def _sheet_table(pages: Pages, looks: Sequence[Look], problems: int) -> Table:
    table = _plain_table()
    table.add_row("document", f"{escape(pages.name)} as {escape(pages.encoder)} sees it")
    table.add_row("reduction", escape(pages.spec))
    missing = f", [yellow]{problems:,} left out[/]" if problems else ""
    table.add_row("pages", f"{len(looks):,}{missing}")
    for name, value in _sheet_legend(pages, looks)[1:]:
        table.add_row(name, escape(value))
    low, high = (choose(looks, key=lambda look: look.share) for choose in (min, max))
    if len(looks) > 1:
        table.add_row("of a page", f"{_share(low)} to {_share(high)}")
    return table


def _share(look: Look) -> str:
    return f"{look.share:.0%} (page {escape(look.name.rpartition('#')[2])})"
