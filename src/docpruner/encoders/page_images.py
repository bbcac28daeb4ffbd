"""Pages as the pictures an encoder wants: upright, in RGB, on white paper."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageOps

from docpruner.types import Page


def page_name(page: Page | Image.Image, number: int) -> str:
    """The page's own name, or its place in the call for a bare image."""
    return page.name if isinstance(page, Page) else f"image {number}"


def page_image(page: Page | Image.Image) -> Image.Image:
    """The page upright (as its EXIF data says) in RGB; what is transparent becomes white paper."""
    image = ImageOps.exif_transpose(page.render() if isinstance(page, Page) else page)
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Greyscale of 16 bits or more, scaled; Pillow itself would cut off what exceeds 255."""
    values = np.asarray(image, dtype=np.float32)
    peak = max(float(values.max()), 255.0)
    full = 65535.0 if 255 < peak <= 65535 else peak
    return Image.fromarray(np.clip(values * (255 / full), 0, 255).astype(np.uint8))
