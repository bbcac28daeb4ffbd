"""Why a page matched and what was kept of it: in words, in figures, and as pictures."""

from docpruner.explain.drawing import (
    PIXELS,
    hit_picture,
    page_picture,
    sheet_picture,
)
from docpruner.explain.look import Look, look
from docpruner.explain.whatif import Importances, WhatIf, judged_by_importance
from docpruner.explain.words import (
    Answer,
    answers,
    matched_words,
    region,
    word_number,
)

__all__ = [
    "PIXELS",
    "Answer",
    "Importances",
    "Look",
    "WhatIf",
    "answers",
    "hit_picture",
    "judged_by_importance",
    "look",
    "matched_words",
    "page_picture",
    "region",
    "sheet_picture",
    "word_number",
]
