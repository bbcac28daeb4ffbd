"""Why a page matched and what was kept of it: in words, in figures, and as pictures."""

from docpruner.explain.answers import (
    Answer,
    answers,
    matched_words,
    really_matches,
    region,
    word_number,
)
from docpruner.explain.drawing import (
    PIXELS,
    hit_picture,
    page_picture,
    sheet_picture,
)
from docpruner.explain.pruning_view import PruningView, pruning_view
from docpruner.explain.what_if import Importances, WhatIf, judged_by_importance

__all__ = [
    "PIXELS",
    "Answer",
    "Importances",
    "PruningView",
    "WhatIf",
    "answers",
    "hit_picture",
    "judged_by_importance",
    "matched_words",
    "page_picture",
    "pruning_view",
    "really_matches",
    "region",
    "sheet_picture",
    "word_number",
]
