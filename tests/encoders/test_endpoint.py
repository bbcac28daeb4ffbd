"""Vectors from a server that speaks as vLLM's pooling endpoint does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread
from typing import Any

import numpy as np
import pytest
from PIL import Image

from docpruner import Index
from docpruner.encoders import load_encoder
from docpruner.errors import EncoderError

DIM = 8


class Pooling(BaseHTTPRequestHandler):
    """A word of a query is a direction by its length; a page is a row of its colours."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, asked))
        if asked["model"] == "flat":
            return self._answer(200, {"data": [{"index": 0, "object": "pooling", "data": [1, 2]}]})
        if asked["model"] != "org/colqwen":
            text = f"The model `{asked['model']}` does not exist."
            return self._answer(404, {"error": {"message": text, "code": 404}})
        vectors = self._vectors(asked)
        item = {"index": 0, "object": "pooling", "data": vectors.tolist()}
        usage = {"prompt_tokens": len(vectors), "total_tokens": len(vectors)}
        head = {"id": "pool-1", "object": "list", "created": 1, "model": asked["model"]}
        return self._answer(200, {**head, "data": [item], "usage": usage})

    def _vectors(self, asked: dict[str, Any]) -> np.ndarray:
        if "input" in asked:
            assert asked["task"] == "token_embed"
            return np.eye(DIM)[[len(word) % DIM for word in asked["input"].split()]]
        (message,) = asked["messages"]
        picture, text = message["content"]
        assert (message["role"], text) == ("user", {"type": "text", "text": "Describe the image."})
        kind, _, encoded = picture["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        image = Image.open(BytesIO(base64.b64decode(encoded)))
        strongest = int(np.argmax(image.getpixel((0, 0))))
        return np.eye(DIM)[[strongest, 3, 3, 4, 5]]

    def _answer(self, code: int, body: Any) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pooling) as made:
        made.asked = []
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def address(server: ThreadingHTTPServer, model: str = "org/colqwen") -> str:
    return f"http://127.0.0.1:{server.server_address[1]}/#{model}"


COLOURS = {"red.png": (255, 0, 0), "green.png": (0, 255, 0)}


def test_pages_and_queries_are_what_the_server_gives(server):
    encoder = load_encoder(address(server))
    assert (encoder.name, encoder.dim, encoder.reads) == (address(server), DIM, "pixels")
    (query,) = encoder.encode_queries(["four a"])
    assert np.array_equal(query, np.eye(DIM)[[4, 1]])
    assert encoder.query_words("four a") == ["[1]", "[2]"]
    red, green = encoder.encode_pages([Image.new("RGB", (9, 9), c) for c in COLOURS.values()])
    assert np.array_equal(red.vectors, np.eye(DIM)[[0, 3, 3, 4, 5]])
    assert np.array_equal(green.vectors[0], np.eye(DIM)[1])
    assert not red.importance.any()
    assert {path for path, _ in server.asked} == {"/pooling"}


def test_an_index_without_importance_is_made_searched_and_opened_again(server, tmp_path):
    for name, colour in COLOURS.items():
        Image.new("RGB", (30, 20), colour).save(tmp_path / name)
    with Index.create(
        tmp_path / "index", encoder=address(server), spec="sem-cluster:factor=2", codec="float32"
    ) as index:
        assert index.add(tmp_path / "red.png").pages == 1
        assert not index.settings.importances
    with Index.open(tmp_path / "index") as index:
        assert index.add(tmp_path / "green.png").pages == 1
        (first, *_) = index.search("a")  # direction 1, which is green
        assert first.name == "green.png#1"


def test_vectors_without_attention_are_pruned_by_what_they_say_alone(server, tmp_path):
    Image.new("RGB", (30, 20), COLOURS["red.png"]).save(tmp_path / "red.png")
    with Index.create(
        tmp_path / "index", encoder=address(server), spec="facility-location:ratio=0.2"
    ) as index:
        index.add(tmp_path / "red.png")
        with index.reader() as reader:
            (name,) = reader.pages()
            kept = reader.page(*name).provenance.sources.tolist()
    assert kept == [0, 1, 3, 4]  # of directions 0 3 3 4 5 the second 3 adds nothing


@pytest.mark.parametrize(
    "spec",
    [
        "docpruner:k=-0.25",
        "docpruner:k=1,signal=centrality",
        "sem-cluster:factor=2+attention-ratio",
    ],
)
def test_strategies_that_go_by_importance_are_refused(server, tmp_path, spec):
    reason = r"gives vectors but no attention, so .* choose from none, random, mean-similarity, fac"
    with pytest.raises(EncoderError, match=reason):
        Index.create(tmp_path / "index", encoder=address(server), spec=spec)
    assert not (tmp_path / "index").exists()


def test_what_a_server_refuses_is_passed_on(server):
    with pytest.raises(EncoderError, match=r"/pooling refused \(404\).*`other` does not exist"):
        load_encoder(address(server, "other"))
    with pytest.raises(EncoderError, match=r"shape \(2,\).*flat is no model of several vectors"):
        load_encoder(address(server, "flat"))


def test_a_server_that_is_not_there_and_an_address_without_a_model():
    with pytest.raises(EncoderError, match=r"can't be reached .*: vllm serve org/colqwen"):
        load_encoder("http://127.0.0.1:9/#org/colqwen")
    with pytest.raises(EncoderError, match=r"names no model; write http://host:8000/#its-name"):
        load_encoder("http://host:8000")
