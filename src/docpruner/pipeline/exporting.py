"""All pages of an index in a file, for search engines that docpruner does not speak to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from docpruner.errors import ExportError
from docpruner.pipeline.copy_plan import read_page
from docpruner.pipeline.export_formats import WRITERS, ExportedPage, ExportFormat, Numbers
from docpruner.stores.contract import Progress, Reader, Store
from docpruner.stores.records import PageName, StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import FloatArray, Metadata

VectorNumbers = Literal["float32", "int8", "bits"]
VECTOR_NUMBERS: tuple[VectorNumbers, ...] = get_args(VectorNumbers)

LARGEST = 127
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: str
    pages: int
    vectors: int
    dim: int
    scale: float | None  # of int8: number = byte × scale, the same for all pages
    bytes: int  # of the file


def export_index(
    store: Store,
    path: str | os.PathLike[str],
    *,
    format: ExportFormat,  # noqa: A002  # as users say it
    vectors: VectorNumbers = "float32",
    force: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write every page with its document, number, size, metadata, words and vectors to a file.

    Vectors are decoded. As `int8` all share one scale, for which the index is read twice, so that
    inner products rank as before but for the rounding; as `bits` they are signs, eight to a byte,
    the first number in the highest bit, as numpy's `packbits` and Vespa's `unpack_bits` have it.
    The file is there when it is whole, and not before.
    """
    if format not in WRITERS:
        raise ExportError(f"no format {format!r}; there are: {', '.join(WRITERS)}")
    if vectors not in VECTOR_NUMBERS:
        raise ExportError(f"no vectors as {vectors!r}; there are: {', '.join(VECTOR_NUMBERS)}")
    target = Path(path)
    if target.exists() and not force:
        raise ExportError(
            f"{target} is there already; choose another name, or overwrite it (--force)"
        )
    with store.reader() as reader, _whole_or_not_at_all(target) as draft:
        settings, names = reader.settings, sorted(reader.pages())
        scale = _scale(_pages(store, reader, names)) if vectors == "int8" else None
        metadata = {entry.name: entry.metadata for entry in reader.documents()}
        width = -(-settings.dim // 8) if vectors == "bits" else settings.dim
        count = 0
        with WRITERS[format](draft, _about(settings, vectors, scale), width) as write:
            for done, page in enumerate(_pages(store, reader, names), 1):
                numbers = _numbers(page.vectors.decode(), vectors, scale)
                write(_exported(page, metadata[page.document], numbers))
                count += len(numbers)
                if progress is not None:
                    progress(done, len(names))
    return Exported(str(target), len(names), count, settings.dim, scale, target.stat().st_size)


def _about(settings: Settings, vectors: VectorNumbers, scale: float | None) -> dict[str, str]:
    """What a reader of the file has to know to make queries that fit."""
    about = {
        "encoder": settings.encoder,
        "dim": str(settings.dim),
        "spec": settings.spec,
        "codec": settings.codec,
        "vectors": vectors,
    }
    return about if scale is None else {**about, "scale": repr(scale)}


def _pages(store: Store, reader: Reader, names: Sequence[PageName]) -> Iterator[StoredPage]:
    return (read_page(store, reader, *name) for name in names)


def _scale(pages: Iterable[StoredPage]) -> float:
    largest = max((float(np.abs(page.vectors.decode()).max()) for page in pages), default=0.0)
    return largest / LARGEST or 1.0


def _numbers(vectors: FloatArray, kind: VectorNumbers, scale: float | None) -> Numbers:
    if kind == "bits":
        return np.packbits(vectors > 0, axis=1).view(np.int8)
    if scale is None:
        return vectors
    rounded: npt.NDArray[np.int8] = np.rint(vectors / scale).astype(np.int8)
    return rounded


def _exported(page: StoredPage, metadata: Metadata, numbers: Numbers) -> ExportedPage:
    width, height = page.size
    return ExportedPage(
        _storable(page.document),
        page.number,
        float(width),
        float(height),
        metadata,
        _storable(page.text.plain),
        numbers,
    )


def _storable(text: str) -> str:
    """Without what UTF-8 can't hold, and without the control characters that Vespa refuses."""
    whole = text.encode(errors="replace").decode()
    return _CONTROL.sub(" ", whole)


@contextmanager
def _whole_or_not_at_all(target: Path) -> Iterator[Path]:
    draft = target.with_name(f"{target.name}.partial")
    try:
        try:
            yield draft
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(
            f"{target} can't be written ({error.strerror or error}); make room, or choose another "
            "folder"
        ) from error
