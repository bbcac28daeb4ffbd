"""The words that stand on a PDF page, each with its box, read from the page's text layer.

Words come in the order in which the page writes them, which is reading order in nearly every PDF
made by a program, columns included. Sorting them by place instead would tear columns apart.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pypdfium2.raw as pdfium

from docpruner.types import Word

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

Box = tuple[float, float, float, float]
Character = tuple[str, Box | None]  # a box in points, from the bottom left of the unturned page

HYPHENS = "-\u00ad\u2010\ufffe\x02"  # pdfium writes U+0002 or U+FFFE for a hyphen at a line's end
NOT_TEXT = {0x00, 0xFFFF, 0xFEFF, 0x200B}


def words_of_page(page: PdfPage) -> tuple[Word, ...]:
    """The words of a page of an open PDF.

    A word that is hyphenated at the end of a line is one word again, with the box of its first
    half. Chinese and Japanese have no spaces: there each character is a word.
    """
    textpage = page.get_textpage()
    try:
        characters = list(_characters(textpage.raw))
    finally:
        textpage.close()
    to_fractions = _Fractions(page)
    words = []
    for text, box in _joined(_pieces(characters)):
        place = to_fractions(box)
        if place is not None:
            words.append(Word(text, place))
    return tuple(words)


def _characters(textpage: pdfium.FPDF_TEXTPAGE) -> Iterator[Character]:
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    pointers = [ctypes.byref(value) for value in (left, right, bottom, top)]
    unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetCharBox
    high = 0
    for index in range(pdfium.FPDFText_CountChars(textpage)):
        code = unicode_of(textpage, index)
        if code in NOT_TEXT:
            continue
        if 0xD800 <= code < 0xDC00:  # half of a character beyond U+FFFF
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            if not high:
                continue
            code, high = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00), 0
        character = chr(code)
        if character.isspace():
            yield character, None
        elif box_of(textpage, index, *pointers):
            yield character, (left.value, bottom.value, right.value, top.value)


def _pieces(characters: list[Character]) -> Iterator[tuple[str, Box, bool]]:
    """Runs of characters without a space between them, and whether the line ends after each."""
    text: list[str] = []
    x0 = y0 = x1 = y1 = 0.0
    for character, box in characters:
        if text and (box is None or _is_cjk(character) or _is_cjk(text[-1])):
            yield "".join(text), (x0, y0, x1, y1), character in "\r\n"
            text = []
        if box is None:
            continue
        if text:
            x0, y0 = min(x0, box[0]), min(y0, box[1])
            x1, y1 = max(x1, box[2]), max(y1, box[3])
        else:
            x0, y0, x1, y1 = box
        text.append(character)
        if character in "\x02\ufffe":  # pdfium joins the halves of the word itself
            yield "".join(text), (x0, y0, x1, y1), True
            text = []
    if text:
        yield "".join(text), (x0, y0, x1, y1), True


def _joined(pieces: Iterator[tuple[str, Box, bool]]) -> Iterator[tuple[str, Box]]:
    """Words, where a half at a line's end waits for the half that follows it."""
    waiting: tuple[str, Box] | None = None
    for text, box, line_ends in pieces:
        if waiting is not None:
            first, first_box = waiting
            waiting = None
            if text[0].islower():
                text, box = first[:-1] + text, first_box
            else:  # Franco-⏎German, or a dash
                yield first[:-1] + "-", first_box
        if line_ends and len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha():
            waiting = text, box
            continue
        text = text.replace("\u00ad", "").replace("\x02", "-").replace("\ufffe", "-")
        if text:
            yield text, box
    if waiting is not None:
        yield waiting[0][:-1] + "-", waiting[1]


def _is_cjk(character: str) -> bool:
    """Scripts written without spaces that are cut into characters; Korean has spaces."""
    return character >= "\u3040" and (
        "\u3040" <= character <= "\u30ff"  # kana
        or "\u3400" <= character <= "\u9fff"  # Han
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )


class _Fractions:
    """From points of the unturned page to fractions of the page as it is shown."""

    def __init__(self, page: PdfPage) -> None:
        left, bottom, right, top = page.get_bbox()
        self.left, self.bottom = left, bottom
        self.width, self.height = max(right - left, 1e-6), max(top - bottom, 1e-6)
        self.rotation = page.get_rotation()

    def __call__(self, box: Box) -> Box | None:
        """None where the box lies wholly outside the page, or is no number in a damaged file: such
        text is never shown."""
        x0, x1 = ((x - self.left) / self.width for x in (box[0], box[2]))
        y0, y1 = (1 - (y - self.bottom) / self.height for y in (box[3], box[1]))
        if self.rotation == 90:
            x0, y0, x1, y1 = 1 - y1, x0, 1 - y0, x1
        elif self.rotation == 180:
            x0, y0, x1, y1 = 1 - x1, 1 - y1, 1 - x0, 1 - y0
        elif self.rotation == 270:
            x0, y0, x1, y1 = y0, 1 - x1, y1, 1 - x0
        if not (x1 >= 0 and y1 >= 0 and x0 <= 1 and y0 <= 1):
            return None
        return max(x0, 0.0), max(y0, 0.0), min(x1, 1.0), min(y1, 1.0)
