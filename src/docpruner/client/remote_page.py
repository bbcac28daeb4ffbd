"""A page that a server shows: its words and its picture, fetched when someone asks for them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docpruner.client.connection import Connection
from docpruner.errors import PageError, ServerError
from docpruner.hits import Hit, Match
from docpruner.types import Box, Word

if TYPE_CHECKING:
    from PIL.Image import Image

NARROWEST, WIDEST = 64, 2000  # pixels that the server draws
ABOUT_THE_PAGE = (404, 409, 422)  # statuses: its file is gone, has changed, can't be read


@dataclass(frozen=True, eq=False)
class RemotePage:
    """Stands where local hits have the files, and knows one page only: that of the hit."""

    connection: Connection
    document: str  # as the server calls it in addresses
    name: str
    number: int
    size: tuple[float, float]

    def words(self, path: str, number: int) -> tuple[Word, ...]:  # noqa: ARG002
        return self._words

    @cached_property
    def _words(self) -> tuple[Word, ...]:
        with self._problems():
            told = self.connection.get(f"{self._address}/words")
        return tuple(Word(str(word["text"]), _box(word["box"])) for word in told["words"])

    def picture(self, path: str, number: int, pixels: int) -> Image:  # noqa: ARG002
        from PIL import Image

        width, height = self.size
        share = width / height if min(self.size) > 0 else 1.0
        wide = min(max(math.ceil(math.sqrt(pixels * share)), NARROWEST), WIDEST)
        with self._problems():
            data = self.connection.download(f"{self._address}/image", [("width", str(wide))])
        with Image.open(io.BytesIO(data), formats=["WEBP"]) as picture:
            return picture.convert("RGB")

    @property
    def _address(self) -> str:
        return f"pages/{self.document}/{self.number}"

    @contextmanager
    def _problems(self) -> Iterator[None]:
        """What the server says of a page's file, as readers of local files say it."""
        try:
            yield
        except ServerError as error:
            if error.status not in ABOUT_THE_PAGE:
                raise
            told = str(error).removeprefix(f"{self.connection.url}: ")
            reason, _, remedy = told.partition("; ")
            remedy = remedy or "look for it on the server"
            raise PageError(self.name, reason, remedy, self.number) from None


def hit_of(told: Any, query: str, connection: Connection) -> Hit:
    """A hit from what the server says of it."""
    size = (float(told["width"]), float(told["height"]))
    return Hit(
        document=told["name"],
        page=told["page"],
        score=told["score"],
        matches=tuple(
            Match(
                word=match["word"],
                score=match["score"],
                boxes=tuple(_box(box) for box in match["boxes"]),
                found=tuple(match["found"]),
                weight=match["weight"],
            )
            for match in told["matches"]
        ),
        metadata=told["metadata"],
        size=size,
        query=query,
        files=RemotePage(connection, told["document"], told["name"], told["page"], size),
    )


def _box(edges: list[float]) -> Box:
    x0, y0, x1, y1 = edges
    return x0, y0, x1, y1
