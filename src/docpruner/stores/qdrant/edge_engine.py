"""Qdrant's engine in this process (Qdrant Edge): a folder that one process at a time has open."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge

from docpruner.errors import IndexStateError, IndexWriteError
from docpruner.stores.qdrant.points import (
    INTEGERS,
    KEYWORDS,
    MULTIVECTOR,
    SPARSE,
    Among,
    Condition,
    Datatype,
    Found,
    Nearest,
    Payload,
    Point,
    Quantization,
    Scored,
    SparseVector,
    Where,
)

CONFIG = "edge_config.json"
AT_ONCE, WITH_VECTORS = 1000, 32  # points read at a time
DATATYPES = {
    "float32": edge.VectorStorageDatatype.Float32,
    "float16": edge.VectorStorageDatatype.Float16,
}

_open: dict[Path, EdgeEngine] = {}
_opening = threading.Lock()


def edge_engine(folder: Path) -> EdgeEngine:
    """The one of this process; each who asks for it closes it once."""
    folder = folder.absolute()
    with _opening:
        engine = _open.get(folder) or EdgeEngine(folder)
        engine.openers += 1
        _open[folder] = engine
    return engine


class EdgeEngine:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.writing: threading.Lock | None = threading.Lock()
        self.openers = 0
        self._shard: Any = self._loaded() if self.exists() else None

    def _loaded(self) -> Any:
        try:
            return edge.EdgeShard.load(str(self._folder))
        except Exception as error:  # its only kind
            if "WouldBlock" in str(error):
                raise IndexStateError(
                    f"another process has {self._folder} open, and Qdrant Edge is for one at a "
                    "time; let it finish, or use a server: qdrant://host:6333/name"
                ) from error
            raise IndexStateError(f"{self._folder} can't be opened: {error}") from error

    def exists(self) -> bool:
        return (self._folder / CONFIG).is_file()

    def make(self, dim: int, datatype: Datatype, quantization: Quantization | None) -> None:
        with self._errors():
            if self._shard is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                config = _config(dim, datatype, quantization)
                self._shard = edge.EdgeShard.create(str(self._folder), config)
            for name in KEYWORDS:
                self._index(name, edge.PayloadSchemaType.Keyword)
            for name in INTEGERS:
                self._index(name, edge.PayloadSchemaType.Integer)

    def _index(self, name: str, kind: Any) -> None:
        self._shard.update(edge.UpdateOperation.create_field_index(name, kind))

    def upsert(self, points: Sequence[Point]) -> None:
        some = [edge.Point(point.id, _vector(point), point.payload) for point in points]
        self._update(edge.UpdateOperation.upsert_points(some))

    def put(self, where: Where, payload: Payload) -> None:
        self._update(edge.UpdateOperation.set_payload_by_filter(_filter(where), payload))

    def remove(self, where: Where) -> None:
        self._update(edge.UpdateOperation.delete_points_by_filter(_filter(where)))

    def _update(self, operation: Any) -> None:
        with self._errors():
            self._shard.update(operation)

    def scan(
        self, where: Where, fields: Sequence[str] | None = None, *, vectors: bool = False
    ) -> Iterator[Found]:
        offset = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=AT_ONCE if fields is not None else WITH_VECTORS,
                filter=_filter(where),
                with_payload=True if fields is None else list(fields),
                with_vector=[MULTIVECTOR] if vectors else False,
            )
            with self._errors():
                records, offset = ([], None) if self._shard is None else self._shard.scroll(request)
            for record in records:
                yield Found(record.payload or {}, _given(record.vector))
            if offset is None:
                return

    def count(self, where: Where) -> int:
        with self._errors():
            return int(self._shard.count(edge.CountRequest(exact=True, filter=_filter(where))))

    def nearest(self, asked: Sequence[Nearest]) -> list[list[Scored]]:
        with self._errors():
            batch = edge.QueryBatchRequest([_query(each) for each in asked])
            answers = self._shard.query_batch(batch)
        return [[Scored(point.payload, point.score) for point in points] for points in answers]

    def bytes_on_disk(self) -> int | None:
        """Allocated: its files are sparse."""
        files = (path.stat() for path in self._folder.rglob("*") if path.is_file())
        return sum(512 * file.st_blocks for file in files)

    def settle(self) -> None:
        with self._errors():
            self._shard.optimize()
            self._shard.flush()

    def close(self) -> None:
        with _opening:
            self.openers -= 1
            if self.openers:
                return
            _open.pop(self._folder, None)
            if self._shard is not None:
                self._shard.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise IndexWriteError(
                f"{self._folder} can't be written ({error.strerror}); make room, or choose "
                "another folder"
            ) from error
        except Exception as error:  # its only kind
            raise IndexWriteError(
                f"Qdrant Edge in {self._folder}: {error}. What was committed is safe"
            ) from error


def _config(dim: int, datatype: Datatype, quantization: Quantization | None) -> Any:
    quantizations: dict[str, Any] = {
        "scalar": edge.ScalarQuantizationConfig(edge.ScalarType.Int8),
        "binary": edge.BinaryQuantizationConfig(),
    }
    vectors = edge.EdgeVectorParams(
        size=dim,
        distance=edge.Distance.Dot,
        multivector_config=edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
        datatype=DATATYPES[datatype],
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        quantization_config=None if quantization is None else quantizations[quantization],
    )
    words = edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)
    return edge.EdgeConfig(vectors={MULTIVECTOR: vectors}, sparse_vectors={SPARSE: words})


def _vector(point: Point) -> dict[str, Any]:
    vector: dict[str, Any] = {}
    if point.vectors is not None:
        vector[MULTIVECTOR] = point.vectors.tolist()
    if point.words:
        vector[SPARSE] = _sparse(point.words)
    return vector


def _sparse(words: SparseVector) -> Any:
    return edge.SparseVector(list(words), list(words.values()))


def _given(vector: Any) -> Any:
    if not isinstance(vector, dict) or MULTIVECTOR not in vector:
        return None
    return np.array(vector[MULTIVECTOR], np.float32)


def _filter(where: Where) -> Any:
    return edge.Filter(must=[_condition(each) for each in where])


def _condition(condition: Condition) -> Any:
    if isinstance(condition, Among):
        values: list[Any] = list(condition.values)
        match = edge.MatchExcept if condition.excluded else edge.MatchAny
        return edge.FieldCondition(condition.key, match=match(values))
    between = edge.RangeFloat(gte=condition.low, lte=condition.high)
    return edge.FieldCondition(condition.key, range=between)


def _query(asked: Nearest) -> Any:
    if isinstance(asked.query, np.ndarray):
        query = edge.Query.Nearest(asked.query.tolist(), MULTIVECTOR)
    else:
        query = edge.Query.Nearest(_sparse(asked.query), SPARSE)
    chosen = edge.QuantizationSearchParams(rescore=True, oversampling=asked.oversampling)
    params = (
        edge.SearchParams(exact=True)
        if asked.oversampling is None
        else edge.SearchParams(quantization=chosen)
    )
    return edge.QueryRequest(
        limit=asked.limit,
        query=query,
        filter=_filter(asked.where),
        params=params,
        with_payload=["version", "number"],
    )
