"""The words of a page as they are stored: what each is and where it stands, in few bytes.

    text      the words, with a space or a new line between two, as the page has them
    a NUL
    places    unless the page map has them: in steps of 1/1023 of the page across and 1/511 down,
              the gap to the word before, width, steps of the upper and of the lower edge; all low
              bytes, then all high ones

All of it is deflated, with a checksum at its end.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from docpruner.errors import DamagedIndexError
from docpruner.types import Box, FloatArray, Word
from docpruner.word_forms import text_of

STEPS = np.array((1023, 511, 1023, 511))
NUL = b"\0"
WHOLE_PAGE: Box = (0.0, 0.0, 1.0, 1.0)
_BREAKS = re.compile(r"\s|\0")
_HARD_SPACE = "\u00a0"  # is no break: within a word it stands for one


@dataclass(frozen=True)
class PageText:
    """Words in reading order. A store keeps `packed`, and needs to know no more of it."""

    packed: bytes = b""  # empty if nothing is stored; a page that has no words has a byte

    @classmethod
    def of(cls, words: Sequence[Word], *, places: bool = True) -> PageText:
        """Without `places`, for a page whose map has the box of every word."""
        if not words:
            return cls(NUL)
        plain = [replace(word, text=_BREAKS.sub(_HARD_SPACE, word.text)) for word in words]
        deflate = zlib.compressobj(9)
        text = text_of(plain).encode(errors="surrogatepass")
        packed = [deflate.compress(text + NUL), deflate.flush(zlib.Z_PARTIAL_FLUSH)]
        if places:
            packed.append(deflate.compress(_packed_boxes(words)))
        return cls(b"".join([*packed, deflate.flush()]))

    def __bool__(self) -> bool:
        """Whether there are words."""
        return len(self.packed) > 1

    @property
    def is_stored(self) -> bool:
        """Whether it says what words the page has, if only that it has none."""
        return bool(self.packed)

    @property
    def plain(self) -> str:
        """The text of the page, line by line."""
        return self._parts()[0]

    @property
    def words(self) -> tuple[Word, ...]:
        """With their places, if they are stored here: see `StoredPage.words`."""
        return self.placed(None)

    def placed(self, boxes: FloatArray | None) -> tuple[Word, ...]:
        """The words with these boxes, unless they have their own; without any, that of the page."""
        text, places = self._parts()
        texts = re.split("[ \n]", text) if self else []
        if places:
            boxes = _unpacked_boxes(places, len(texts))
        if boxes is None or len(boxes) != len(texts):
            return tuple(Word(each, WHOLE_PAGE) for each in texts)
        corners = boxes.tolist()
        return tuple(
            Word(each, (box[0], box[1], box[2], box[3]))
            for each, box in zip(texts, corners, strict=True)
        )

    def _parts(self) -> tuple[str, bytes]:
        if not self:
            return "", b""
        try:
            text, _, places = zlib.decompress(self.packed).partition(NUL)
            return text.decode(errors="surrogatepass"), places
        except (ValueError, zlib.error) as error:
            raise DamagedIndexError("the stored words of a page are damaged") from error


def _packed_boxes(words: Sequence[Word]) -> bytes:
    corners = np.clip(np.array([word.box for word in words]), 0, 1)
    left, top, right, bottom = np.rint(corners * STEPS).astype(np.int32).T
    before = np.concatenate([[0], right[:-1]])
    columns = (left - before, right - left, np.diff(top, prepend=0), np.diff(bottom, prepend=0))
    signed = np.stack(columns).astype("<i2")
    folded = ((signed << 1) ^ (signed >> 15)).astype("<u2")  # small ones have a high byte of zero
    return folded.view(np.uint8).reshape(4, -1, 2).transpose(0, 2, 1).tobytes()


def _unpacked_boxes(data: bytes, count: int) -> FloatArray:
    try:
        planes = np.frombuffer(data, np.uint8).reshape(4, 2, count)
    except ValueError as error:
        raise DamagedIndexError("the stored words of a page are damaged") from error
    pairs = np.ascontiguousarray(planes.transpose(0, 2, 1)).view("<u2")[..., 0].astype(np.int32)
    gap, width, top, bottom = (pairs >> 1) ^ -(pairs & 1)
    right = np.cumsum(gap + width)
    corners: npt.NDArray[np.int64] = np.stack(
        [right - width, np.cumsum(top), right, np.cumsum(bottom)], axis=1
    )
    places: FloatArray = (corners / STEPS).astype(np.float32)
    return places
