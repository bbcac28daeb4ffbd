"""What goes wrong inside is told in general, and to the log in full."""

from __future__ import annotations

import logging

import anyio
import httpx
import pytest

from docpruner.errors import (
    DamagedIndexError,
    EncoderError,
    IndexBusyError,
    IndexClosedError,
    IndexStateError,
    IndexWriteError,
    PageError,
)
from docpruner.facade import Index
from docpruner.web.app import make_app
from faults.library import pdf
from faults.words import WordEncoder
from web.running import served_words


@pytest.fixture
def app(words_index):
    app = make_app(words_index)
    yield app
    app.state.on_exit.close()


async def asked(app, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("at /home/me/secret"), 500),
        (OSError(28, "No space left", "/home/me/secret"), 500),
        (DamagedIndexError("/home/me/secret is damaged"), 500),
        (PageError("/home/me/secret", "is no PDF: it starts with 'secret'", "get it again"), 422),
        (IndexStateError("/home/me/secret has format 9"), 500),
        (IndexBusyError("/home/me/secret", 1.0), 409),
        (IndexWriteError("/home/me/secret can't be written to: it is read-only"), 507),
        (IndexClosedError("/home/me/secret is closed"), 503),
        (EncoderError("/home/me/secret holds no model"), 500),
    ],
)
def test_errors_inside_tell_no_path(app, monkeypatch, caplog, error, status):
    def fail() -> None:
        raise error

    monkeypatch.setattr(app.state.view, "listed", fail)
    with caplog.at_level(logging.ERROR):
        answer = anyio.run(asked, app, "/api/documents")
    assert answer.status_code == status
    assert "secret" not in answer.text
    assert answer.json()["error"]["message"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" in caplog.text


def test_a_query_that_the_encoder_cannot_read_is_told_so(app, monkeypatch):
    def fail(texts: list[str]) -> None:
        raise EncoderError(f"/home/me/secret: no words in {texts}")

    monkeypatch.setattr(app.state.view.index, "_encoder", WordEncoder())
    monkeypatch.setattr(app.state.view.index.encoder, "encode_queries", fail)
    answer = anyio.run(asked, app, "/api/search?q=harbour")
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "q: the encoder can't read this query"


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["message"]


CANT_WRITE = "the index can't be written to; its disk may be full or read-only"


def test_a_full_disk_is_told_as_one(words_index):
    with served_words(words_index, "--allow-changes", "--largest-file", "2500") as running:
        document = running.ids()["library/harbour.pdf"]
        assert error_of(running.client.delete(f"/api/documents/{document}")) == (507, CANT_WRITE)
        job = running.finished(running.upload(("a.pdf", pdf("a", 1))).json()["job"])
        assert (job["state"], job["error"]) == ("failed", CANT_WRITE)
        status, message = error_of(running.upload(("large.pdf", b"%PDF-" + 3000 * b" ")))
        assert (status, message) == (
            507, "the files can't be saved on the server; its disk may be full or read-only"
        )  # fmt: skip
        assert len(running.ids()) == 2


def test_another_writer_is_told_as_one(words_index):
    with served_words(words_index, "--allow-changes") as running:
        document = running.ids()["library/harbour.pdf"]
        with Index.open(words_index) as index, index._store.writer():
            status, message = error_of(running.client.delete(f"/api/documents/{document}"))
        assert (status, message) == (
            409, "another process is writing to the index; try again when it has finished"
        )  # fmt: skip
        assert running.client.delete(f"/api/documents/{document}").status_code == 200
