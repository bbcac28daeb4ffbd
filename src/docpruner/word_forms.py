"""Words of pages as text, and as full-text search compares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unicodedata import combining, normalize

from docpruner.types import Word

# Chinese and Japanese are written without spaces, and each sign is looked for by itself
_WORDS = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    "|[^\\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def words_in(text: str) -> list[str]:
    """Runs of letters and digits, without case and accents; a part number falls into its parts.

    The same for what is stored and for what is asked.
    """
    if text.isascii():
        return _WORDS.findall(text.lower())
    plain = normalize("NFKD", text.casefold())
    bare = "".join(sign for sign in plain if not combining(sign))
    return _WORDS.findall(normalize("NFC", bare))


def text_of(words: Sequence[Word]) -> str:
    """Words with spaces between them, and a new line where the page begins one."""
    parts: list[str] = []
    for before, word in zip([None, *words], words, strict=False):
        if before is not None:
            middle = (before.box[1] + before.box[3]) / 2
            same_line = word.box[1] <= middle <= word.box[3] and word.box[0] >= before.box[0]
            parts.append(" " if same_line else "\n")
        parts.append(word.text)
    return "".join(parts)
