"""Pages as the pictures an encoder wants: upright, in RGB, on white paper."""

from __future__ import annotations

from PIL import Image, ImageOps

from docpruner.types import Page


def page_name(page: Page | Image.Image, number: int) -> str:
    """The page's own name, or its place in the call for a bare image."""
    return page.name if isinstance(page, Page) else f"image {number}"


def page_image(page: Page | Image.Image) -> Image.Image:
    """The page upright (as its EXIF data says) in RGB; what is transparent becomes white paper."""
    image = page.render() if isinstance(page, Page) else page
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):  # 16 bits or more; Pillow would cut them off, not scale
        low, high = image.getextrema()
        span = max(high - low, 1)
        image = image.convert("F").point(lambda value: value * (255 / span) - low * (255 / span))
        return image.convert("L").convert("RGB")
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image.convert("RGB")
