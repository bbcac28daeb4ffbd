"""What stands in for a Qdrant server: its REST interface, as far as the store uses it, over
qdrant-client's local mode.

No server can be installed where these tests run. Every request goes through a socket and is read by
the models that are generated from Qdrant's published OpenAPI, which forbid fields that they don't
know; what is asked is then done by a Python re-implementation of the engine. So addresses, bodies,
errors and time-outs are real; what a server makes of them is not tested.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError
from qdrant_client import QdrantClient, models

UPDATED = {"operation_id": 1, "status": "completed"}
API_KEY = "sesame"  # wanted for collections whose name begins with "locked"


def _create(client: QdrantClient, name: str, asked: models.CreateCollection) -> Any:
    if client.collection_exists(name):
        raise FileExistsError
    client.create_collection(name, asked.vectors, asked.sparse_vectors)
    return True


def _upsert(client: QdrantClient, name: str, asked: models.PointsList) -> Any:
    client.upsert(name, asked.points)
    return UPDATED


def _put(client: QdrantClient, name: str, asked: models.SetPayload) -> Any:
    client.set_payload(name, asked.payload, asked.filter)
    return UPDATED


def _delete(client: QdrantClient, name: str, asked: models.FilterSelector) -> Any:
    client.delete(name, asked)
    return UPDATED


def _scroll(client: QdrantClient, name: str, asked: models.ScrollRequest) -> Any:
    records, offset = client.scroll(
        name,
        asked.filter,
        asked.limit,
        offset=asked.offset,
        with_payload=asked.with_payload,
        with_vectors=asked.with_vector,
    )
    return {"points": records, "next_page_offset": offset}


def _count(client: QdrantClient, name: str, asked: models.CountRequest) -> Any:
    return client.count(name, asked.filter)


def _query(client: QdrantClient, name: str, asked: models.QueryRequestBatch) -> Any:
    return client.query_batch_points(name, asked.searches)


ROUTES: dict[tuple[str, str], tuple[type[BaseModel], Callable[..., Any]]] = {
    ("PUT", ""): (models.CreateCollection, _create),
    ("PUT", "/index"): (models.CreateFieldIndex, lambda *_: UPDATED),
    ("PUT", "/points"): (models.PointsList, _upsert),
    ("POST", "/points/payload"): (models.SetPayload, _put),
    ("POST", "/points/delete"): (models.FilterSelector, _delete),
    ("POST", "/points/scroll"): (models.ScrollRequest, _scroll),
    ("POST", "/points/count"): (models.CountRequest, _count),
    ("POST", "/points/query/batch"): (models.QueryRequestBatch, _query),
}


class Handler(BaseHTTPRequestHandler):
    client: QdrantClient
    lock: threading.Lock  # local mode is for one thread; a server's updates come one by one too
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionResetError, BrokenPipeError):
            self.close_connection = True

    def do_GET(self) -> None:
        _, _, name, what = urlsplit(self.path).path.split("/", 3)
        with self.lock:
            there = self.client.collection_exists(name)
        if name.startswith("locked") and self.headers["api-key"] != API_KEY:
            return self._answer(401, {"status": {"error": "Must provide an API key"}})
        return self._answer(200, {"result": {"exists": there}} if what == "exists" else {})

    def do_PUT(self) -> None:
        path = urlsplit(self.path).path.split("/", 3)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        model, run = ROUTES[self.command, "/" + path[3] if len(path) > 3 else ""]
        try:
            asked = model.model_validate_json(body)
            with self.lock, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # local mode says that it has no indexes
                result = run(self.client, path[2], asked)
        except FileExistsError:
            return self._answer(409, {"status": {"error": "Collection already exists!"}})
        except (ValidationError, ValueError) as error:
            return self._answer(400, {"status": {"error": str(error)}})
        return self._answer(200, {"result": result})

    do_POST = do_PUT  # noqa: N815

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps({"status": "ok", "time": 0.0, **answer}, default=_as_json).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _as_json(value: Any) -> Any:
    return value.model_dump(mode="json", exclude_none=True)


@contextmanager
def stand_in() -> Iterator[int]:
    """The port that it listens on, as long as it is needed."""
    handler = type(
        "Own", (Handler,), {"client": QdrantClient(":memory:"), "lock": threading.Lock()}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
        handler.client.close()
