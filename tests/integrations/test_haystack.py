"""The Haystack component, inside the real library."""

from __future__ import annotations

import asyncio
import io
import os

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before it is imported: tests send nothing

pytest.importorskip("haystack", reason='needs "docpruner[haystack]"')

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from PIL import Image

from docpruner import Index
from docpruner.client import Client
from docpruner.errors import IndexStateError
from docpruner.integrations.haystack import DocPrunerRetriever

QUESTION = "In which part of southern Europe did sales go down?"


@pytest.fixture(scope="module")
def index(shelf):
    with Index.open(shelf / "two.idx") as opened:
        yield opened


def test_a_page_becomes_a_document(index):
    documents = DocPrunerRetriever(index, top_k=3).run(QUESTION)["documents"]
    hits = index.search(QUESTION, 3)
    assert [type(each) for each in documents] == [Document] * 3
    assert [each.content for each in documents] == [hit.text for hit in hits]
    assert [each.score for each in documents] == [hit.score for hit in hits]
    first, hit = documents[0], hits[0]
    assert first.id == f"{hit.document}#{hit.page}"
    assert (first.meta["document"], first.meta["page"]) == (hit.document, hit.page)
    assert (first.meta["year"], first.blob) == (2024, None)
    assert first.meta["boxes"]
    assert Document.from_dict(first.to_dict()) == first


def test_pictures_come_if_asked_for(index):
    retriever = DocPrunerRetriever(index, top_k=1, pictures=True, picture_width=300)
    (document,) = retriever.run(QUESTION)["documents"]
    assert document.blob.mime_type == "image/png"
    with Image.open(io.BytesIO(document.blob.data)) as picture:
        assert (picture.format, picture.width) == ("PNG", 300)


def test_a_query_may_bring_its_own_filters(index):
    retriever = DocPrunerRetriever(index, metadata={"year": 2024}, pages=(1, 2))
    (one,) = retriever.run("guest house", top_k=1, documents=["travel*"])["documents"]
    assert one.meta["document"].endswith("travel-expense-form.pdf")
    assert retriever.run("guest house", metadata={"year": 1999}) == {"documents": []}
    assert {each.meta["page"] for each in retriever.run("a")["documents"]} == {1, 2}


def pipeline_of(retriever: DocPrunerRetriever) -> Pipeline:
    pipeline = Pipeline()
    template = "{% for each in documents %}{{ each.content }}{% endfor %}Question: {{ query }}"
    pipeline.add_component("retriever", retriever)
    pipeline.add_component(
        "prompt", PromptBuilder(template, required_variables=["documents", "query"])
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def test_a_saved_pipeline_searches_the_same_index(shelf):
    asked = {"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}}
    own = DocPrunerRetriever(
        shelf / "two.idx", top_k=1, documents=("annual*",), pages=(1, None), mode="hybrid"
    )
    first = pipeline_of(own)
    saved = first.dumps()
    again = Pipeline.loads(saved, allowed_modules=["docpruner.integrations.haystack"])
    said = again.run(asked)["prompt"]["prompt"]
    assert "Southern Europe" in said
    assert said == first.run(asked)["prompt"]["prompt"]
    assert again.dumps() == saved
    for pipeline in (first, again):
        pipeline.get_component("retriever")._opened().close()


def test_async(index):
    retriever = DocPrunerRetriever(index, top_k=1)
    assert asyncio.run(retriever.run_async(QUESTION)) == retriever.run(QUESTION)


def test_what_is_saved_is_a_location_and_no_token(index, shelf):
    data = DocPrunerRetriever(index).to_dict()
    assert data["type"] == "docpruner.integrations.haystack.DocPrunerRetriever"
    assert data["init_parameters"]["index"] == str(shelf / "two.idx")
    secret = "a-token-of-my-own"
    data = DocPrunerRetriever(Client(f"http://127.0.0.1:1/#token={secret}")).to_dict()
    assert data["init_parameters"]["index"] == "http://127.0.0.1:1"
    assert secret not in str(data)
    with Index.create(None) as memory, pytest.raises(IndexStateError, match="in memory can't be"):
        DocPrunerRetriever(memory).to_dict()


def test_a_page_whose_file_is_gone_is_found_and_says_so(gone):
    retriever = DocPrunerRetriever(gone, top_k=1, pictures=True)
    (document,) = retriever.run("guest house")["documents"]
    retriever._opened().close()
    assert (document.content, document.blob) == ("", None)
    assert "travel-expense-form.pdf" in document.meta["problem"]
