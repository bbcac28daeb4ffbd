"""Pictures that are sent to search by: never kept, and decoded in a child process only."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from docpruner.errors import PageError
from docpruner.web.error_responses import Refused
from docpruner.web.readers import DRAWING_SECONDS, ReaderPool

if TYPE_CHECKING:
    from PIL.Image import Image

log = logging.getLogger(__name__)

RECEIVED_AT_ONCE = 4
ENDING = ".png"  # of the file that is decoded: what kind of picture it is, its bytes tell
CANT_SAVE = "the picture can't be taken in; the server's disk may be full or read-only"


class PictureQueries:
    """Takes in a few pictures at a time."""

    def __init__(self) -> None:
        self._readers = ReaderPool(1, seconds=DRAWING_SECONDS)
        self._receiving = 0
        self.close = self._readers.close

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """A file for a picture, gone in the end; refused if there is no room for another."""
        if self._receiving >= RECEIVED_AT_ONCE:
            raise Refused(429, "too many pictures at once; try again in a moment")
        self._receiving += 1
        try:
            with _refusing_on_disk_errors():
                folder = tempfile.TemporaryDirectory(prefix="docpruner-")
            with folder:
                yield Path(folder.name, f"picture{ENDING}")
        finally:
            self._receiving -= 1

    def decoded(self, path: Path, pixels: int) -> Image:
        try:
            return self._readers.picture(str(path), 1, pixels)
        except PageError as problem:
            raise Refused(422, f"the picture {problem.reason}; {problem.remedy}") from None


async def save(parts: AsyncIterator[bytes], path: Path) -> None:
    with _refusing_on_disk_errors(), path.open("wb") as file:
        async for part in parts:
            file.write(part)
        if not file.tell():
            raise Refused(422, "no picture; send the bytes of one as the body")


@contextmanager
def _refusing_on_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        log.error("%s", error)
        raise Refused(507, CANT_SAVE) from None
