"""Pages as other search engines take them: Parquet, JSON lines, and what Vespa is fed with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from docpruner.errors import MissingExtraError
from docpruner.types import Metadata

ExportFormat = Literal["parquet", "jsonl", "vespa"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)

Numbers = npt.NDArray[np.float32] | npt.NDArray[np.int8]

DECIMALS = 8  # of a number in JSON: less than float32 tells apart from 0.1 on
ROW_GROUP = 16 << 20  # bytes of vectors that are held until they are written to Parquet


@dataclass(frozen=True, eq=False)
class ExportedPage:
    """A page as it is written; the fields are those of a record."""

    document: str
    page: int  # from 1
    width: float
    height: float
    metadata: Metadata
    text: str  # empty if its words are not stored
    vectors: Numbers  # (n, dim), or (n, dim / 8) of packed bits

    @property
    def id(self) -> str:
        return f"{self.document}#{self.page}"

    def record(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "document": self.document,
            "page": self.page,
            "width": round(self.width, 3),
            "height": round(self.height, 3),
            "metadata": dict(self.metadata),
            "text": self.text,
            "vectors": _listed(self.vectors),
        }


Write = Callable[[ExportedPage], None]
Opened = AbstractContextManager[Write]


@contextmanager
def json_lines(path: Path, about: Mapping[str, str], width: int) -> Iterator[Write]:  # noqa: ARG001
    with path.open("w", encoding="utf-8") as file:
        yield lambda page: _line(file.write, page.record())


@contextmanager
def vespa(path: Path, about: Mapping[str, str], width: int) -> Iterator[Write]:  # noqa: ARG001
    """One `put` a line. The tensor has a mapped dimension for the vectors and an indexed one for
    their numbers, in the short form with a block for each vector."""

    def write(page: ExportedPage) -> None:
        record = page.record()
        fields = {key: value for key, value in record.items() if key != "vectors"}
        fields["metadata"] = _as_json(page.metadata)
        blocks = {str(row): numbers for row, numbers in enumerate(record["vectors"])}
        fields["vectors"] = {"blocks": blocks}
        _line(file.write, {"put": f"id:docpruner:page::{page.id}", "fields": fields})

    with path.open("w", encoding="utf-8") as file:
        yield write


@contextmanager
def parquet(path: Path, about: Mapping[str, str], width: int) -> Iterator[Write]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("writing Parquet", "lance") from None

    kind = pa.int8() if about["vectors"] != "float32" else pa.float32()
    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("document", pa.string(), nullable=False),
            pa.field("page", pa.int32(), nullable=False),
            pa.field("width", pa.float32()),
            pa.field("height", pa.float32()),
            pa.field("metadata", pa.string()),
            pa.field("text", pa.string()),
            pa.field("vectors", pa.list_(pa.list_(kind, width))),
        ],
        metadata={f"docpruner.{key}": value for key, value in about.items()},
    )
    waiting: list[ExportedPage] = []
    held = 0

    def flush() -> None:
        nonlocal held
        if waiting:
            writer.write_table(_table(pa, waiting, schema))
            waiting.clear()
            held = 0

    def write(page: ExportedPage) -> None:
        nonlocal held
        waiting.append(page)
        held += page.vectors.nbytes
        if held >= ROW_GROUP:
            flush()

    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        yield write
        flush()


def _table(pa: Any, pages: list[ExportedPage], schema: Any) -> Any:
    together = np.concatenate([page.vectors for page in pages])
    offsets = np.cumsum([0, *(len(page.vectors) for page in pages)]).astype(np.int32)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(together.ravel()), together.shape[1])
    columns = [
        [page.id for page in pages],
        [page.document for page in pages],
        [page.page for page in pages],
        [page.width for page in pages],
        [page.height for page in pages],
        [_as_json(page.metadata) for page in pages],
        [page.text for page in pages],
    ]
    arrays = [pa.array(column, schema[place].type) for place, column in enumerate(columns)]
    vectors = pa.ListArray.from_arrays(pa.array(offsets), rows).cast(schema[-1].type)
    return pa.Table.from_arrays([*arrays, vectors], schema=schema)


WRITERS: dict[ExportFormat, Callable[[Path, Mapping[str, str], int], Opened]] = {
    "parquet": parquet,
    "jsonl": json_lines,
    "vespa": vespa,
}
"""Each opens a file, given what is said about it and the numbers of a vector."""


def _listed(vectors: Numbers) -> list[list[float]]:
    if vectors.dtype == np.int8:
        listed: list[list[float]] = vectors.tolist()
        return listed
    rounded: list[list[float]] = vectors.astype(np.float64).round(DECIMALS).tolist()
    return rounded


def _line(write: Callable[[str], Any], value: Any) -> None:
    write(_as_json(value) + "\n")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
