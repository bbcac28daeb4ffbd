"""The LangChain retriever, inside the real library."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("langchain_core", reason='needs "docpruner[langchain]"')

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from docpruner import Index
from docpruner.client import Client
from docpruner.errors import IndexStateError
from docpruner.integrations.langchain import DocPrunerRetriever
from web.running import served

QUESTION = "In which part of southern Europe did sales go down?"


@pytest.fixture(scope="module")
def index(shelf):
    with Index.open(shelf / "two.idx") as opened:
        yield opened


def test_a_page_becomes_a_document(index):
    documents = DocPrunerRetriever(index=index, k=3).invoke(QUESTION)
    hits = index.search(QUESTION, 3)
    assert [type(each) for each in documents] == [Document] * 3
    assert [each.page_content for each in documents] == [hit.text for hit in hits]
    first, hit = documents[0], hits[0]
    assert "Southern Europe" in first.page_content
    assert first.id == f"{hit.document}#{hit.page}"
    told = {key: first.metadata[key] for key in ("document", "page", "score", "year")}
    assert told == {"document": hit.document, "page": hit.page, "score": hit.score, "year": 2024}
    best = max(hit.matches, key=lambda match: match.score)
    assert first.metadata["boxes"][0] == pytest.approx(best.boxes[0], abs=1e-4)
    assert "image" not in first.metadata


def test_pictures_come_if_asked_for(index):
    (document,) = DocPrunerRetriever(index=index, k=1, pictures=True, picture_width=300).invoke(
        QUESTION
    )
    assert document.metadata["image_type"] == "image/png"
    with Image.open(io.BytesIO(base64.b64decode(document.metadata["image"]))) as picture:
        assert (picture.format, picture.width) == ("PNG", 300)


def test_it_is_narrowed_as_a_search(index):
    def found(**options):
        retriever = DocPrunerRetriever(index=index, k=50, **options)
        return {
            (Path(d.metadata["document"]).name, d.metadata["page"]) for d in retriever.invoke("a")
        }

    assert {name for name, _ in found(documents="travel*")} == {"travel-expense-form.pdf"}
    assert {page for _, page in found(pages=(2, 3))} == {2, 3}
    assert found(metadata_filter={"year": 1999}) == set()
    text = DocPrunerRetriever(index=index, k=2, mode="text").invoke("dividend")
    assert [d.metadata["score"] for d in text] == [
        hit.score for hit in index.search("dividend", 2, mode="text")
    ]


def test_async_batches_chains_and_callbacks(index):
    retriever = DocPrunerRetriever(index=index, k=1)
    alone = [retriever.invoke(query) for query in (QUESTION, "guest house")]
    assert retriever.batch([QUESTION, "guest house"]) == alone
    assert asyncio.run(retriever.ainvoke(QUESTION)) == alone[0]
    assert asyncio.run(retriever.abatch([QUESTION, "guest house"])) == alone
    chain = retriever | RunnableLambda(lambda found: found[0].metadata["page"])
    assert chain.invoke(QUESTION) == alone[0][0].metadata["page"]

    class Seen(BaseCallbackHandler):
        documents = ()

        def on_retriever_end(self, documents, **_):
            self.documents = documents

    seen = Seen()
    retriever.invoke(QUESTION, config={"callbacks": [seen]})
    assert list(seen.documents) == alone[0]


def test_a_location_is_opened_and_a_server_asked(shelf):
    retriever = DocPrunerRetriever(index=str(shelf / "two.idx"), k=1)
    (local,) = retriever.invoke(QUESTION)
    retriever.index.close()
    with served(shelf / "two.idx") as server:
        by_address = DocPrunerRetriever(index=server.address, k=1, pictures=True)
        assert isinstance(by_address.index, Client)
        (remote,) = by_address.invoke(QUESTION)
    assert remote.page_content == local.page_content
    assert remote.metadata["document"] == "annual-report.pdf"
    assert remote.metadata["image"]
    with pytest.raises(IndexStateError, match="no index"):
        DocPrunerRetriever(index=str(shelf / "no.idx"))
    with pytest.raises(ValueError, match="42 is no index, no client and no location"):
        DocPrunerRetriever(index=42)


def test_a_page_whose_file_is_gone_is_found_and_says_so(gone):
    retriever = DocPrunerRetriever(index=str(gone), k=1, pictures=True)
    (document,) = retriever.invoke("guest house")
    retriever.index.close()
    assert (document.page_content, document.metadata["page"]) == ("", 2)
    assert "travel-expense-form.pdf" in document.metadata["problem"]
    assert "image" not in document.metadata
