"""The words of a page as they are stored: what each is and where it stands, in few bytes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docpruner.errors import DamagedIndexError
from docpruner.types import Word

STEPS = 4095  # of a page's width and height, that boxes are rounded to
BETWEEN = "\0"


@dataclass(frozen=True)
class PageText:
    """Words in reading order. A store keeps `packed`, and needs to know no more of it."""

    packed: bytes = b""  # empty if the page has no words, or they are not stored

    @classmethod
    def of(cls, words: Sequence[Word]) -> PageText:
        if not words:
            return cls()
        texts = BETWEEN.join(word.text.replace(BETWEEN, "") for word in words)
        edges = np.clip(np.array([word.box for word in words]).T, 0, 1)  # those of a kind together
        steps = np.rint(edges * STEPS).astype("<i2")
        changes = np.diff(steps, axis=1, prepend=np.int16(0)).astype("<i2")
        count = np.array([len(words)], "<u4").tobytes()
        data = count + changes.tobytes() + texts.encode(errors="surrogatepass")
        return cls(zlib.compress(data, 9))

    def __bool__(self) -> bool:
        return bool(self.packed)

    @property
    def words(self) -> tuple[Word, ...]:
        if not self.packed:
            return ()
        try:
            data = zlib.decompress(self.packed)
            count = int(np.frombuffer(data[:4], "<u4")[0])
            changes = np.frombuffer(data[4 : 4 + 8 * count], "<i2").reshape(4, count)
            texts = data[4 + 8 * count :].decode(errors="surrogatepass").split(BETWEEN)
        except (ValueError, IndexError, zlib.error) as error:
            raise DamagedIndexError("the stored words of a page are damaged") from error
        boxes = (np.cumsum(changes, axis=1, dtype=np.int64) / STEPS).T.tolist()
        return tuple(
            Word(text, (box[0], box[1], box[2], box[3]))
            for text, box in zip(texts, boxes, strict=True)
        )

    @property
    def plain(self) -> str:
        """The words, with spaces between them."""
        return " ".join(word.text for word in self.words)
