"""The mined features as torch tensors, split by document."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from model import Features
from torch import Tensor

@dataclass(frozen=True)
class Texts:
    """Ragged texts: word features in a row, and where each text begins."""

    arrays: dict[str, np.ndarray]
    offsets: np.ndarray
    rarity: np.ndarray

    def rarities(self, which: np.ndarray) -> Tensor:
        """Of the words of some texts, padded with zeros."""
        starts, lengths = self.offsets[which], np.diff(self.offsets)[which]
        found = np.zeros((len(which), lengths.max()), np.float32)
        for row, (first, length) in enumerate(zip(starts, lengths, strict=True)):
            found[row, :length] = self.rarity[first : first + length]
        return torch.from_numpy(found)

    def gather(
        self, which: np.ndarray, names: tuple[str, ...] = ("written", "last")
    ) -> tuple[Features, Tensor]:
        """The named features of some texts, padded, and which words are real."""
        starts, lengths = self.offsets[which], np.diff(self.offsets)[which]
        places = starts[:, None] + np.arange(lengths.max())
        real = np.arange(lengths.max()) < lengths[:, None]
        places = np.where(real, places, starts[:, None])
        found = dict.fromkeys(Features._fields, torch.empty(0))
        for name in names:
            rows = which if name.endswith("global") else places
            found[name] = torch.from_numpy(self.arrays[name][rows]).float()
        return Features(**found), torch.from_numpy(real)


@dataclass(frozen=True)
class Mined:
    pages: Texts
    queries: Texts
    page_of: np.ndarray  # of each query
    source: np.ndarray  # (queries, 2): the words of its page that it was made of
    training: np.ndarray  # pages, in document order: neighbours are hard negatives
    held_out: np.ndarray
    queries_of: list[np.ndarray]  # of each page

    def source_mask(self, queries: np.ndarray, width: int) -> Tensor:
        places = np.arange(width)
        first, last = self.source[queries, :1], self.source[queries, 1:]
        return torch.from_numpy((places >= first) & (places < last))


def load(path: Path) -> Mined:
    stored = np.load(path)
    texts = {}
    for kind in ("page", "query"):
        names = ("written", "before", "last", "before_global")
        arrays = {name: stored[f"{kind}_{name}"] for name in names}
        texts[kind] = Texts(arrays, stored[f"{kind}_offsets"], stored[f"{kind}_rarity"])
    rows, held_out = stored["rows"], stored["held_out"]
    page_of = rows[:, 0]
    return Mined(
        texts["page"], texts["query"], page_of, rows[:, 1:3],
        np.flatnonzero(~held_out), np.flatnonzero(held_out),
        [np.flatnonzero(page_of == page) for page in range(len(held_out))],
    )  # fmt: skip
