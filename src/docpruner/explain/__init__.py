"""Why a page matched and what was kept of it: in words, in figures, and as pictures."""

from docpruner.explain.drawing import (
    PIXELS,
    hit_picture,
    kept_page_picture,
    kept_patches_picture,
    page_picture,
    sheet_picture,
)
from docpruner.explain.look import Look, look
from docpruner.explain.words import (
    COUNTS,
    Answer,
    answers,
    matched_words,
    region,
    word_number,
)
from docpruner.pictures.lettering import MARKS

__all__ = [
    "COUNTS",
    "MARKS",
    "PIXELS",
    "Answer",
    "Look",
    "answers",
    "hit_picture",
    "kept_page_picture",
    "kept_patches_picture",
    "look",
    "matched_words",
    "page_picture",
    "region",
    "sheet_picture",
    "word_number",
]
