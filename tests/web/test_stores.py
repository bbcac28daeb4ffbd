"""What is served need not be a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import numpy as np
from fastapi import FastAPI

from docpruner.facade import Index
from docpruner.types import PageEmbedding
from docpruner.web.app import make_app
from faults.library import pdf
from faults.words import WordEncoder


@contextmanager
def served_here(index: Index, **options) -> Iterator[FastAPI]:
    app = make_app(index, **options)
    yield app
    app.state.on_exit.close()


def ask(app: FastAPI, method: str, path: str, **options) -> httpx.Response:
    async def request() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **options)

    return anyio.run(request)


def documents(app: FastAPI) -> dict[str, dict]:
    listed = ask(app, "GET", "/api/documents").json()["documents"]
    return {document["name"]: document for document in listed}


def made_index(folder: Path) -> Index:
    """In memory: a file, and a page of the same name that was encoded elsewhere."""
    (folder / "harbour.pdf").write_bytes(pdf("harbour", 1))
    index = Index.create(None, encoder=WordEncoder())
    index.add(folder / "harbour.pdf", metadata={"year": 2024, "tags": ["sea", 1.5, None]})
    index.add_embeddings(PageEmbedding("harbour.pdf#1", np.eye(2, 16), [1, 2], (1, 2)))
    return index


def test_an_index_in_memory_is_served(tmp_path):
    with served_here(made_index(tmp_path), allow_changes=True) as app:
        stats = ask(app, "GET", "/api/stats").json()
        assert (stats["name"], stats["pages"]) == ("memory", 2)
        hit, other = ask(app, "GET", "/api/search?q=harbour").json()["hits"]
        assert hit["name"] == f"{tmp_path.name}/harbour.pdf"
        assert other["name"] == "harbour.pdf"
        assert hit["metadata"] == {"year": 2024, "tags": ["sea", 1.5, None]}
        sent = {"files": ("a.pdf", b"%PDF-")}
        refused = ask(app, "POST", "/api/documents", files=sent)
        assert refused.status_code == 403
        assert "--uploads" in refused.json()["error"]["message"]


def test_a_document_is_removed_by_its_whole_name(tmp_path):
    with served_here(made_index(tmp_path), allow_changes=True) as app:
        key = documents(app)["harbour.pdf"]["id"]
        assert ask(app, "DELETE", f"/api/documents/{key}").json() == {"deleted": "harbour.pdf"}
        (left,) = documents(app).values()
        assert left["metadata"]["year"] == 2024


def test_metadata_narrows_a_search_whatever_its_type(tmp_path):
    with served_here(made_index(tmp_path)) as app:
        for given, count in [("year=2024", 1), ("tags=sea", 1), ("tags=1.5", 1), ("year=2023", 0)]:
            answer = ask(app, "GET", "/api/search", params={"q": "harbour", "metadata": given})
            assert len(answer.json()["hits"]) == count, given
