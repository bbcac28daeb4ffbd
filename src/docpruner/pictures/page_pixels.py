"""From fractions of a page to its pixels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops

from docpruner.errors import InvalidPageError
from docpruner.types import FloatArray

Pixels = npt.NDArray[np.int32]  # (n, 4) x0 y0 x1 y1, the last two exclusive
Mask = npt.NDArray[np.uint8]  # (height, width)

BAND = 1 << 17  # pixels
WHOLE = 0.95  # of the page: cells, up to some rounding
TILED = 0.75  # of the page: text boxes of the densest pages cover half of it


def as_rgb(image: Image.Image) -> Image.Image:
    """A picture in RGB, with white where it is transparent."""
    if image.has_transparency_data:
        sheet = Image.new("RGBA", image.size, "white")
        sheet.alpha_composite(image.convert("RGBA"))
        return sheet.convert("RGB")
    return image.convert("RGB")


def grey(page: Image.Image) -> Image.Image:
    return page.convert("L").convert("RGB")


def tinted(page: Image.Image, colour: Image.Image, alpha: Image.Image) -> Image.Image:
    """A colour over a page, darker where the page is dark: so letters stay readable under it, and
    a dark page still shows the colour.
    """
    lightened = Image.blend(grey(page), Image.new("RGB", page.size, "white"), 0.4)
    return Image.composite(ImageChops.multiply(colour, lightened), page, alpha)


def in_bands(
    page: Image.Image,
    levels: Image.Image,
    painter: Callable[[Image.Image, Image.Image], Image.Image],
) -> Image.Image:
    """What the painter makes of a page and its levels, a band at a time.

    Many copies of a band fit where many copies of a large page would not, and are faster.
    """
    sheet = Image.new("RGB", page.size)
    band = max(1, BAND // page.width)
    for top in range(0, page.height, band):
        box = (0, top, page.width, min(top + band, page.height))
        sheet.paste(painter(page.crop(box), levels.crop(box)), (0, top))
    return sheet


def checked_boxes(boxes: npt.ArrayLike) -> FloatArray:
    array = np.asarray(boxes, np.float32)
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidPageError(
            f"boxes have shape {array.shape}, expected (n, 4): x0, y0, x1, y1 as fractions"
        )
    return array


def on_page(boxes: FloatArray) -> npt.NDArray[np.bool_]:
    """False for the empty boxes that special tokens have."""
    found: npt.NDArray[np.bool_] = (boxes != 0).any(axis=1)
    return found


def overview(boxes: FloatArray) -> npt.NDArray[np.bool_]:
    """The patches of a second, coarser view of the page behind cells that tile all of it."""
    areas = np.clip(boxes[:, 2:] - boxes[:, :2], 0, 1).prod(axis=1)
    fine: npt.NDArray[np.bool_] = areas <= 2 * areas.min(initial=1.0)
    if areas[fine].sum() < WHOLE:
        return np.zeros(len(boxes), np.bool_)
    return ~fine


def padding(boxes: FloatArray, size: tuple[int, int]) -> int:
    """Pixels to add around each box: none for cells, which are all alike or tile the page; some
    for words, whose boxes touch their letters.
    """
    sides = np.clip(boxes[:, 2:] - boxes[:, :2], 0, 1)
    cells = len(boxes) > 1 and float(np.ptp(sides, axis=0).max()) < 1e-4
    if not len(boxes) or cells or sides.prod(axis=1).sum() >= TILED:
        return 0
    return max(1, round(0.14 * float(np.median(sides[:, 1])) * size[1]))


def pixels(boxes: FloatArray, size: tuple[int, int], pad: int = 0) -> Pixels:
    """The pixels of boxes on a page of width and height `size`.

    Neighbouring cells share no pixel and leave none between them. A box without width or height
    still gets one pixel, and nothing leaves the page.
    """
    ends = np.array([size, size], np.int32).reshape(4)
    placed: Pixels = np.rint(np.clip(boxes, 0, 1) * ends).astype(np.int32)
    placed[:, :2] -= pad
    placed[:, 2:] += pad
    placed[:, :2] = np.clip(placed[:, :2], 0, ends[:2] - 1)
    placed[:, 2:] = np.clip(np.maximum(placed[:, 2:], placed[:, :2] + 1), 1, ends[2:])
    return placed


def paint(sheet: Mask, places: Pixels, levels: npt.NDArray[np.uint8]) -> None:
    """Fill the places of a sheet in their order: the last one wins."""
    for (x0, y0, x1, y1), level in zip(places.tolist(), levels.tolist(), strict=True):
        sheet[y0:y1, x0:x1] = level
