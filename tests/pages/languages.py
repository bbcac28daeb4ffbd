"""Scans in languages that tesseract reads, and tests that need it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from docpruner.pages import tesseract

RUSSIAN = "Расписание паромов на зиму"
GREEK = "Το καράβι φεύγει στις επτά"


def needs(*languages: str) -> pytest.MarkDecorator:
    there = tesseract.installed_languages() or []
    packages = " ".join(f"tesseract-ocr-{each}" for each in languages)
    return pytest.mark.skipif(
        not {*languages} <= {*there},
        reason=f"needs tesseract (Debian: apt-get install tesseract-ocr {packages})",
    )


def printed(line: str) -> Image.Image:
    """A scan of a line in Latin, Greek or Cyrillic letters."""
    matplotlib = pytest.importorskip("matplotlib", reason="its font has Greek and Cyrillic")
    font = ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf", 30)
    image = Image.new("RGB", (1000, 500), "white")
    ImageDraw.Draw(image).text((90, 230), line, "black", font)
    return image
