"""What the retrievers of other libraries search, and what they make of a hit."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from docpruner.errors import IndexStateError, PageError
from docpruner.hits import Hit
from docpruner.types import Metadata, Mode

PICTURE_WIDTH = 1000  # pixels: models of today read a page well at that
PICTURE_TYPE = "image/png"
PageRange = tuple[int, int | None]


class Searchable(Protocol):
    """An `Index`, a `Client`, or anything else that finds hits as they do."""

    @property
    def location(self) -> str: ...

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        documents: str | Sequence[str] = (),
        pages: PageRange | None = None,
        metadata: Metadata | None = None,
        mode: Mode = "vectors",
    ) -> list[Hit]: ...


def opened(index: Searchable | str | os.PathLike[str]) -> Searchable:
    """The index, opened if it is a location; of a server if that is its address."""
    if not isinstance(index, str | os.PathLike):
        return index
    location = os.fspath(index)
    if location.startswith(("http://", "https://")):
        from docpruner.client import Client

        return Client(location)
    from docpruner.facade import Index

    return Index.open(location)


def location_of(index: Searchable) -> str:
    """By which it is opened again; never a token."""
    if index.location.startswith("memory:"):
        raise IndexStateError(
            "an index in memory can't be opened again, so it can't be saved with a pipeline; make "
            "it in a folder"
        )
    return index.location


@dataclass(frozen=True)
class FoundPage:
    """A hit with all of it read: what can't be read is left out, and `problem` says why."""

    hit: Hit
    text: str
    picture: bytes | None  # PNG
    problem: str

    @classmethod
    def of(cls, hit: Hit, *, picture: bool = False, width: int = PICTURE_WIDTH) -> FoundPage:
        text, drawn, problems = "", None, []
        try:
            text = hit.text
        except PageError as problem:
            problems.append(str(problem))
        if picture:
            try:
                drawn = png_of(hit, width)
            except PageError as problem:
                problems.append(str(problem))
        return cls(hit, text, drawn, "; ".join(dict.fromkeys(problems)))

    @property
    def name(self) -> str:
        """That no other page of the index has."""
        return f"{self.hit.document}#{self.hit.page}"

    @property
    def base64(self) -> str | None:
        return None if self.picture is None else base64.b64encode(self.picture).decode()

    @property
    def metadata(self) -> dict[str, Any]:
        """That of the document, and where the page is and why it was found: plain values.

        `boxes` are the places that match, x0, y0, x1, y1 as fractions of the page, the best first.
        """
        best = sorted(self.hit.matches, key=lambda match: -match.score)
        boxes = dict.fromkeys(
            tuple(round(edge, 4) for edge in box) for match in best for box in match.boxes
        )
        told = {
            **self.hit.metadata,
            "document": self.hit.document,
            "page": self.hit.page,
            "score": self.hit.score,
            "boxes": [list(box) for box in boxes],
        }
        return told | {"problem": self.problem} if self.problem else told


def png_of(hit: Hit, width: int = PICTURE_WIDTH) -> bytes:
    """Its page as a picture; PageError if the file is gone or can't be read."""
    stream = io.BytesIO()
    hit.image(width).save(stream, "PNG")
    return stream.getvalue()
