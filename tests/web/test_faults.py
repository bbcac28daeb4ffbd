"""What goes wrong inside is told in general, and to the log in full."""

from __future__ import annotations

import logging

import anyio
import httpx
import pytest

from docpruner.errors import DamagedIndexError, IndexStateError, PageError
from docpruner.web.app import make_app


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
        (IndexStateError("another process is writing to /home/me/secret"), 409),
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
