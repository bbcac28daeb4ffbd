"""The words on a picture of a page, recognised by rapidocr (extra `ocr`, models in its wheel).

Slow: seconds a page. It is for scans, which have no text layer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from PIL.Image import Image

from docpruner.errors import MissingExtraError
from docpruner.types import Word


def recognised_words(image: Image) -> tuple[Word, ...]:
    """Words with their boxes, line by line as the recogniser orders them."""
    width, height = image.size
    blue_green_red = np.asarray(image.convert("RGB"))[:, :, ::-1]
    lines = _engine()(blue_green_red, return_word_box=True, use_cls=False).word_results
    words = []
    for line in lines:
        if not isinstance(line[0], tuple):  # what it gives for an empty page
            continue
        for text, _, corners in line:
            places = np.clip(np.array(corners) / [width, height], 0.0, 1.0)
            (x0, y0), (x1, y1) = places.min(axis=0), places.max(axis=0)
            words.append(Word(str(text), (float(x0), float(y0), float(x1), float(y1))))
    return tuple(words)


@cache
def _engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise MissingExtraError("recognising the words on scans", "ocr") from None
    return RapidOCR(params={"Global.use_cls": False, "Global.log_level": "critical"})
