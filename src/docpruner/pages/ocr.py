"""The words on a picture of a page, recognised by rapidocr (extra `ocr`, models in its wheel), or
by tesseract where its languages are named.

About a second a page on one core. It is for scans, which have no text layer.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from docpruner.errors import MissingExtraError
from docpruner.pages import tesseract
from docpruner.types import Ocr, Word

if TYPE_CHECKING:
    from PIL.Image import Image

RAPIDOCR = "PP-OCRv6 small, 1280"
LONGEST_SIDE = 1280  # pixels in which lines of text are looked for; they are read in more
SHORTEST_SIDE = 736  # pixels that a small picture is enlarged to
PARAMETERS: dict[str, Any] = {
    "Global.use_cls": False,
    "Global.log_level": "critical",
    # Threads of one page wait for each other, most of all on busy cores; pages are read at the same
    # time instead.
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": LONGEST_SIDE,
    "Rec.rec_img_shape": [3, 48, 48],  # a line is as wide as it is, not 320 at least
}


def ocr_installed() -> bool:
    return importlib.util.find_spec("rapidocr") is not None


def uses_ocr(asked: Ocr | None, *, reads_words: bool) -> Ocr:
    """Whether the words of pages without any are to be recognised, and in which languages.

    If nobody has said so, they are where rapidocr is installed and an encoder `reads_words`: one
    that sees the page finds it without, and would wait for it.
    """
    if isinstance(asked, str):
        tesseract.require(asked)
        return asked
    if asked and not ocr_installed():
        raise MissingExtraError("recognising the words on scans", "ocr")
    return reads_words and ocr_installed() if asked is None else asked


def recogniser(ocr: Ocr) -> str:
    """Another name when its words change: what was encoded before is then encoded anew."""
    return f"{tesseract.version()}, {ocr}" if isinstance(ocr, str) else RAPIDOCR


def recognised_words(image: Image, ocr: Ocr = True) -> tuple[Word, ...]:
    """Words with their boxes, line by line as the recogniser orders them."""
    image = _enlarged(image.convert("RGB"))
    return tesseract.words_on(image, ocr) if isinstance(ocr, str) else _by_rapidocr(image)


def _by_rapidocr(image: Image) -> tuple[Word, ...]:
    width, height = image.size
    blue_green_red = np.asarray(image)[:, :, ::-1]
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


def _enlarged(image: Image) -> Image:
    """Small letters are overlooked: a picture of few pixels is drawn larger."""
    scale = min(SHORTEST_SIDE / min(image.size), LONGEST_SIDE / max(image.size))
    if scale <= 1:
        return image
    width, height = image.size
    return image.resize((round(width * scale), round(height * scale)))


@cache
def _engine() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise MissingExtraError("recognising the words on scans", "ocr") from None
    return RapidOCR(params=PARAMETERS)
