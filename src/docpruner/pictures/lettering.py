"""Text in Pillow's own font, which knows little more than ASCII."""

from __future__ import annotations

import math
import unicodedata
from functools import lru_cache

from PIL import ImageFont

from docpruner.errors import DocPrunerError

LEAST_SIZE = 9
MARKS = " .,;:!?()[]{}«»„“”\"'"
UNKNOWN = "\ue000"  # for private use, so no font draws it: what it draws instead is a missing sign
SPELLED = {
    "τ": "tau", "μ": "mu", "µ": "mu", "σ": "sigma", "λ": "lambda", "α": "alpha", "β": "beta",
    "×": "x", "–": "-", "—": "-", "−": "-", "→": "->", "≥": ">=", "≤": "<=", "ß": "ss",
    "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d",
    "ı": "i", "▁": "", "Ġ": "",
}  # fmt: skip


def text_size(size: tuple[int, int]) -> int:
    """The height of letters, in pixels, that suits a picture of width and height `size`.

    On a narrow one, such as a receipt, they are smaller: else every line would be cut.
    """
    return max(LEAST_SIZE, round(min(math.sqrt(size[0] * size[1]) / 62, size[0] / 30)))


@lru_cache(maxsize=32)
def font(size: int) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size)
    if not isinstance(found, ImageFont.FreeTypeFont):
        raise DocPrunerError("pictures need a Pillow with FreeType: pip install --upgrade pillow")
    return found


def drawable(text: str) -> str:
    """`text` in the signs the font has: τ is spelled tau, é loses its accent.

    A sign of another script becomes a question mark.
    """
    return "".join(_spelled(sign) for sign in text)


def bare(text: str) -> str:
    """A word without the marks around it, unless it is nothing else."""
    return text.strip(MARKS) or text.strip()


def is_drawable(text: str) -> bool:
    """Whether at least half of a text survives `drawable`."""
    return 2 * sum(_spelled(sign) != "?" or sign == "?" for sign in text) > len(text)


@lru_cache(maxsize=4096)
def _spelled(sign: str) -> str:
    if _has(sign):
        return sign
    if sign in SPELLED:
        return SPELLED[sign]
    if sign.isspace():
        return " "
    plain = [part for part in unicodedata.normalize("NFKD", sign) if _has(part)]
    return "".join(plain) or "?"


def _has(sign: str) -> bool:
    if sign < " ":
        return False
    face = font(16)
    return bytes(face.getmask(sign)) != bytes(face.getmask(UNKNOWN))


def width_of(text: str, size: int) -> int:
    return math.ceil(font(size).getlength(text))


def fitted(text: str, size: int, width: int) -> str:
    """`text`, cut with an ellipsis where it is wider than `width` pixels."""
    if width_of(text, size) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(text[:middle].rstrip() + "…", size) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""
