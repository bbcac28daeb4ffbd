"""Image files: each is a page, and each frame of a TIFF is one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image
from PIL.Image import Transpose

from docpruner.errors import PageError
from docpruner.pages.parsed_page import PIXEL_LIMIT, Picture
from docpruner.pages.problems import another_kind, printable_path, read_beginning
from docpruner.types import Word

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP")
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+", b"RIFF")
ORIENTATION = 0x0112  # EXIF: how the stored picture is to be turned
TURNS = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
_pillow_limit = Lock()


class ImageFile:
    """An image file. It stays open, so that it is decoded once and its frames are found once;
    but not a JPEG, which is decoded anew for each size it is drawn to.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: Image.Image | None = None
        beginning = read_beginning(path)
        if not beginning.startswith(MAGIC):
            raise another_kind(path, "an image", beginning)
        with _problems(path, None):
            image = _opened(path)
            if image.format == "JPEG":
                image.close()
            else:
                self._kept = image
            self.count = _frames(image) if image.format == "TIFF" else 1
        if self.count == 1:
            self._check_size()

    def _check_size(self) -> None:
        """A single picture that is too large is refused with its file."""
        try:
            with self.frame(1):
                pass
        except PageError:
            self.close()
            raise

    @contextmanager
    def open_page(self, number: int) -> Iterator[OpenImagePage]:
        with self.frame(number) as image:
            size = _upright_size(image)
        yield OpenImagePage(self, number, size)

    @contextmanager
    def frame(self, number: int) -> Iterator[Image.Image]:
        """A frame of which the header was read, if not more. Drawing may change it for good."""
        with _problems(self._path, number if self.count > 1 else None):
            image = self._kept or _opened(self._path)
            try:
                if self.count > 1:
                    image.seek(number - 1)
                width, height = image.size
                if width * height > PIXEL_LIMIT:
                    raise _too_large(self._path, width, height)
                yield image
            except Exception:
                if self._kept is not None:  # Pillow would take a half-read frame for a whole one
                    self._kept.close()
                    self._kept = _opened(self._path)
                raise
            finally:
                if image is not self._kept:
                    image.close()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()


class OpenImagePage:
    """A picture that is a page. It has no words of its own."""

    def __init__(self, file: ImageFile, number: int, size: tuple[float, float]) -> None:
        self._file, self._number, self.size = file, number, size

    def words(self) -> tuple[Word, ...]:
        return ()

    def draw(self, pixels: int) -> Picture:
        """Upright, in RGB, on white paper, scaled down to `pixels` pixels if it has more."""
        with self._file.frame(self._number) as image:
            drawn = _drawn(image, pixels)
            return Picture(*drawn.size, drawn.tobytes())


def _drawn(image: Image.Image, pixels: int) -> Image.Image:
    turn = TURNS.get(_orientation(image))
    width, height = image.size
    scale = min(1.0, math.sqrt(pixels / (width * height)))
    target = max(1, round(width * scale)), max(1, round(height * scale))
    image.draft(None, target)  # a JPEG is decoded at a fraction of its size
    _load(image)
    plain = _plain(image)
    if plain.size != target:
        plain = plain.resize(target, Image.Resampling.LANCZOS, reducing_gap=2.0)
    plain = _on_white(plain)
    return plain.transpose(turn) if turn is not None else plain


def _plain(image: Image.Image) -> Image.Image:
    """In a mode that can be scaled: palettes and single bits can't, and 16 bits would be cut."""
    if image.mode.startswith(("I", "F")):
        return _eight_bits(image)
    if image.has_transparency_data:
        return image.convert("RGBA")
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """In place, for these are the largest arrays of all."""
    values = np.array(image, dtype=np.float32)
    np.nan_to_num(values, copy=False)
    peak = max(float(values.max()), 255.0)
    values *= 255 / (65535.0 if 255 < peak <= 65535 else peak)
    np.clip(values, 0, 255, out=values)
    return Image.fromarray(values.astype(np.uint8))


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image.convert("RGB")
    paper = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(paper, image).convert("RGB")


def _upright_size(image: Image.Image) -> tuple[float, float]:
    width, height = image.size
    return (height, width) if _orientation(image) in (5, 6, 7, 8) else (width, height)


def _orientation(image: Image.Image) -> int:
    """1 is upright. Pillow turns a TIFF by itself; EXIF data that can't be read says nothing."""
    if image.format == "TIFF":
        return 1
    if image.format == "PNG" and "exif" not in image.info:  # it may follow the pixels
        _load(image)  # outside of `try`: a damaged picture does say something
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except Exception:
        return 1


def _load(image: Image.Image) -> None:
    with _no_limit():
        image.load()


def _opened(path: Path) -> Image.Image:
    with _no_limit():
        return Image.open(path, formats=FORMATS)


def _frames(tiff: Image.Image) -> int:
    """Frames of a TIFF up to the first that can't be found, which counts: it is reported."""
    count = 1
    try:
        while True:
            tiff.seek(count)
            count += 1
    except EOFError:
        tiff.seek(0)
        return count
    except Exception:
        tiff.seek(0)
        return count + 1


@contextmanager
def _no_limit() -> Iterator[None]:
    """Pillow's own limit on pixels, a global of its module, is lower and comes with a warning."""
    with _pillow_limit:
        before = Image.MAX_IMAGE_PIXELS
        Image.MAX_IMAGE_PIXELS = None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before


@contextmanager
def _problems(path: Path, number: int | None) -> Iterator[None]:
    """Pillow raises nearly any exception over a damaged file."""
    try:
        yield
    except PageError as problem:
        if number is None or problem.page is not None:
            raise
        raise PageError(problem.path, problem.reason, problem.remedy, number) from None
    except FileNotFoundError:
        raise PageError(
            printable_path(path), "has disappeared", "leave it in place while it is being read"
        ) from None
    except MemoryError:  # the worker knows how much there is
        raise
    except Exception:
        reason, remedy = "is damaged or cut off", "get a fresh copy"
        raise PageError(printable_path(path), reason, remedy, number) from None


def _too_large(path: Path, width: int, height: int) -> PageError:
    return PageError(
        printable_path(path),
        f"is too large ({width}×{height} pixels)",
        f"scale it down to {PIXEL_LIMIT // 1_000_000} million pixels or fewer",
    )
