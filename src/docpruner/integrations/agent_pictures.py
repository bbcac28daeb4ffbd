"""Pictures that fit into a message, and as files for clients that show none."""

from __future__ import annotations

import io
import shutil
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

# Clients refuse messages of more than a megabyte, and base64 adds a third.
MOST_BYTES = 700_000
SMALLER = 0.8
COLOURS = 128
FILES_KEPT = 100


def png_of(picture: Image, side: int, most: int = MOST_BYTES) -> tuple[bytes, tuple[int, int]]:
    """A picture as PNG of at most `side` pixels each way and `most` bytes, and its size.

    What takes too much is given fewer colours, then fewer pixels.
    """
    picture = picture.convert("RGB")
    picture.thumbnail((side, side))
    data = _packed(picture)
    while len(data) > most:
        data = _packed(picture.quantize(COLOURS))
        if len(data) > most:
            width, height = picture.size
            picture = picture.resize((max(1, int(width * SMALLER)), max(1, int(height * SMALLER))))
    return data, picture.size


def _packed(picture: Image) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return stream.getvalue()


class PictureFolder:
    """The last pictures that were shown, as files in a temporary folder, until it is closed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._files: deque[Path] = deque()
        self._turn = Lock()

    def save(self, name: str, data: bytes) -> Path | None:
        """None where nothing can be written: then there is no more than the picture itself."""
        with self._turn:
            try:
                if self._folder is None:
                    self._folder = Path(tempfile.mkdtemp(prefix="docpruner-mcp-"))
                path = self._folder / name
                path.write_bytes(data)
            except OSError:
                return None
            if path not in self._files:
                self._files.append(path)
            while len(self._files) > FILES_KEPT:
                with suppress(OSError):
                    self._files.popleft().unlink()
            return path

    def close(self) -> None:
        with self._turn:
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None
                self._files.clear()
