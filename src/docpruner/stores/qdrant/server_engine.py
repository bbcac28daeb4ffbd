"""A collection on a Qdrant server, by its REST interface."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

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
    Where,
)

KNOCK, PATIENT = 5, 60  # seconds: for whether there is a server, and for what it is asked
AT_ONCE, WITH_VECTORS = 1000, 32  # points of an answer

STRONG = models.WriteOrdering.STRONG
QUANTIZATION: dict[Quantization | None, models.QuantizationConfig | None] = {
    None: None,
    "scalar": models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
    ),
    "binary": models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True)),
}


class ServerEngine:
    writing: threading.Lock | None = None  # others may write too

    def __init__(self, address: str, collection: str, api_key: str | None) -> None:
        self._address, self._collection = address, collection

        def client(timeout: int) -> QdrantClient:
            return QdrantClient(
                url=address, api_key=api_key, timeout=timeout, check_compatibility=False
            )

        knocking = client(KNOCK)
        try:
            with self._errors():
                self._there = knocking.collection_exists(collection)
        finally:
            knocking.close()
        self._client = client(PATIENT)

    def exists(self) -> bool:
        return self._there

    def make(self, dim: int, datatype: Datatype, quantization: Quantization | None) -> None:
        vectors = models.VectorParams(
            size=dim,
            distance=models.Distance.DOT,
            multivector_config=models.MultiVectorConfig(
                comparator=models.MultiVectorComparator.MAX_SIM
            ),
            datatype=models.Datatype(datatype),
            hnsw_config=models.HnswConfigDiff(m=0),
            quantization_config=QUANTIZATION[quantization],
            on_disk=quantization is not None,
        )
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        with self._errors(writing=True):
            if not self._there:
                self._client.create_collection(
                    self._collection,
                    vectors_config={MULTIVECTOR: vectors},
                    sparse_vectors_config={SPARSE: words},
                    on_disk_payload=True,
                )
            for names, kind in ((KEYWORDS, "keyword"), (INTEGERS, "integer")):
                for name in names:
                    schema = models.PayloadSchemaType(kind)
                    self._client.create_payload_index(self._collection, name, schema)
        self._there = True

    def upsert(self, points: Sequence[Point]) -> None:
        structs = [
            models.PointStruct(id=p.id, payload=p.payload, vector=_vector(p)) for p in points
        ]
        with self._errors(writing=True):
            self._client.upsert(self._collection, structs, wait=True, ordering=STRONG)

    def put(self, where: Where, payload: Payload) -> None:
        with self._errors(writing=True):
            self._client.set_payload(
                self._collection, payload, _filter(where), wait=True, ordering=STRONG
            )

    def remove(self, where: Where) -> None:
        chosen = models.FilterSelector(filter=_filter(where))
        with self._errors(writing=True):
            self._client.delete(self._collection, chosen, wait=True, ordering=STRONG)

    def scan(
        self, where: Where, fields: Sequence[str] | None = None, *, vectors: bool = False
    ) -> Iterator[Found]:
        offset: Any = None
        while True:
            with self._errors():
                records, offset = self._client.scroll(
                    self._collection,
                    scroll_filter=_filter(where),
                    limit=AT_ONCE if fields is not None else WITH_VECTORS,
                    offset=offset,
                    with_payload=True if fields is None else list(fields),
                    with_vectors=[MULTIVECTOR] if vectors else False,
                )
            for record in records:
                yield Found(record.payload or {}, _given(record.vector))
            if offset is None:
                return

    def count(self, where: Where) -> int:
        with self._errors():
            return self._client.count(self._collection, count_filter=_filter(where)).count

    def nearest(self, asked: Sequence[Nearest]) -> list[list[Scored]]:
        with self._errors():
            answers = self._client.query_batch_points(self._collection, [_query(a) for a in asked])
        return [[Scored(p.payload or {}, p.score) for p in answer.points] for answer in answers]

    def bytes_on_disk(self) -> int | None:
        return None

    def settle(self) -> None:
        pass

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _errors(self, *, writing: bool = False) -> Iterator[None]:
        kind = IndexWriteError if writing else IndexStateError
        where = f"{self._collection} at {self._address}"
        try:
            yield
        except ResponseHandlingException as error:
            raise kind(
                f"no Qdrant server answers at {self._address} ({error.source or error}); start it, "
                "or give its address as qdrant://host:6333/name. What was committed is safe"
            ) from error
        except UnexpectedResponse as error:
            if error.status_code in (401, 403):
                raise kind(
                    f"the server at {self._address} wants another API key; set QDRANT_API_KEY"
                ) from error
            if error.status_code == 409:
                raise IndexStateError(
                    f"{where} already holds an index, or is being made; choose another name"
                ) from error
            raise kind(
                f"the server does not do what was asked of {where}: {_reason(error)}. "
                "If it is no Qdrant server of 1.10 or later, give the address of one"
            ) from error


def _reason(error: UnexpectedResponse) -> str:
    try:
        status = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        status = error.reason_phrase
    return f"{error.status_code} {status}"


def _vector(point: Point) -> dict[str, Any]:
    vector: dict[str, Any] = {}
    if point.vectors is not None:
        vector[MULTIVECTOR] = point.vectors.tolist()
    if point.words:
        vector[SPARSE] = models.SparseVector(
            indices=list(point.words), values=list(point.words.values())
        )
    return vector


def _given(vector: Any) -> Any:
    if not isinstance(vector, dict) or MULTIVECTOR not in vector:
        return None
    return np.array(vector[MULTIVECTOR], np.float32)


def _filter(where: Where) -> models.Filter:
    return models.Filter(must=[_condition(each) for each in where])


def _condition(condition: Condition) -> models.FieldCondition:
    if isinstance(condition, Among):
        values: list[Any] = list(condition.values)
        match = (
            models.MatchExcept(**{"except": values})
            if condition.excluded
            else models.MatchAny(any=values)
        )
        return models.FieldCondition(key=condition.key, match=match)
    between = models.Range(gte=condition.low, lte=condition.high)
    return models.FieldCondition(key=condition.key, range=between)


def _query(asked: Nearest) -> models.QueryRequest:
    dense = isinstance(asked.query, np.ndarray)
    quantization = models.QuantizationSearchParams(rescore=True, oversampling=asked.oversampling)
    params = (
        models.SearchParams(exact=True)
        if asked.oversampling is None
        else models.SearchParams(quantization=quantization)
    )
    vector: Any
    if isinstance(asked.query, np.ndarray):
        vector = asked.query.tolist()
    else:
        vector = models.SparseVector(indices=list(asked.query), values=list(asked.query.values()))
    return models.QueryRequest(
        query=models.NearestQuery(nearest=vector),
        using=MULTIVECTOR if dense else SPARSE,
        filter=_filter(asked.where),
        limit=asked.limit,
        params=params,
        with_payload=["version", "number"],
    )
