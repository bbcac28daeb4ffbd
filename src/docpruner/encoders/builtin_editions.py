"""The editions of the built-in encoder: what differs from one to the next, and nothing else.

An index names the edition that made its vectors and is searched with that one for good; all
editions come with the package. A new index gets the newest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Edition:
    """The constants of one edition. Its files are those that `<name>.json` lists."""

    name: str
    model_file: str
    rarity_file: str
    codec: Literal["int4", "int2"] = "int4"  # in which a new index stores its vectors
    usual_words: int = 344  # of a page, the mean of those it was trained on
    length_counts: float = 0.75  # BM25's b
    length_power: float = 0.15  # how strongly a page's length counts
    rarity_power: float = 0.5  # of a word's rarity, in the importance
    repeat_power: float = 1.0  # of how often the word stood on the page before, in the importance
    spelling: bool = False  # mixed into the vectors of words that the model does not know
    title_words: int = 0  # of the document's first page, that every other page gets vectors of
    title_share: float = 0.9  # of the length of a page's own: what stands on it counts more

    def length_factor(self, words: int) -> float:
        """How long the vectors of a page of so many words are; 1 for a usual page."""
        share = 1 - self.length_counts + self.length_counts * words / self.usual_words
        return float(share**-self.length_power)


V1 = Edition("builtin-v1", "builtin-v1.onnx", "rarity.tsv")
V2 = Edition(
    "builtin-v2",
    "builtin-v2.onnx",
    "rarity-v2.tsv",
    length_power=0.12,
    codec="int2",
    spelling=True,
    title_words=16,
)
EDITIONS = {edition.name: edition for edition in (V1, V2)}
NEWEST = V2
OLDER = {V1.name}


def newer_edition(encoder: str) -> str | None:
    """The edition that a new index would get, if this is the name of an older one."""
    return NEWEST.name if encoder in OLDER else None
