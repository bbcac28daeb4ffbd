"""The LlamaIndex retriever, inside the real library."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core", reason='needs "docpruner[llama-index]"')

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import ImageNode, MetadataMode, TextNode
from PIL import Image

from docpruner import Index
from docpruner.integrations.llama_index import DocPrunerRetriever

QUESTION = "In which part of southern Europe did sales go down?"


@pytest.fixture(scope="module")
def index(shelf):
    with Index.open(shelf / "two.idx") as opened:
        yield opened


def test_a_page_becomes_a_text_node(index):
    nodes = DocPrunerRetriever(index, k=3).retrieve(QUESTION)
    hits = index.search(QUESTION, 3)
    assert [type(node.node) for node in nodes] == [TextNode] * 3
    assert [node.text for node in nodes] == [hit.text for hit in hits]
    assert [node.score for node in nodes] == [hit.score for hit in hits]
    first, hit = nodes[0], hits[0]
    assert first.node_id == f"{hit.document}#{hit.page}"
    assert first.node.ref_doc_id == hit.document
    assert (first.metadata["page"], first.metadata["year"]) == (hit.page, 2024)
    assert first.metadata["boxes"]
    shown = first.node.get_content(MetadataMode.LLM)
    assert f"page: {hit.page}" in shown
    assert "boxes" not in shown


def test_with_pictures_an_image_node_follows_each(index):
    nodes = DocPrunerRetriever(index, k=2, pictures=True, picture_width=300).retrieve(QUESTION)
    assert [type(node.node) for node in nodes] == [TextNode, ImageNode, TextNode, ImageNode]
    text, image = nodes[0], nodes[1]
    assert image.score == text.score
    assert image.metadata == text.metadata
    with Image.open(image.node.resolve_image()) as picture:
        assert (picture.format, picture.width) == ("PNG", 300)


def test_async_and_narrowed(index):
    retriever = DocPrunerRetriever(index, k=2, documents="travel*", pages=(1, 1))
    (node,) = asyncio.run(retriever.aretrieve("guest house"))
    assert node.metadata["document"].endswith("travel-expense-form.pdf")
    assert retriever.retrieve("guest house")[0].text == node.text
    assert DocPrunerRetriever(index, metadata={"year": 1999}).retrieve("guest house") == []
    by_text = DocPrunerRetriever(index, k=1, mode="text").retrieve("dividend")
    assert by_text[0].score == index.search("dividend", 1, mode="text")[0].score


def test_a_query_engine_takes_it(shelf):
    retriever = DocPrunerRetriever(shelf / "two.idx", k=1)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query(QUESTION)
    retriever.index.close()
    assert "Southern Europe" in str(answer)  # the mock model repeats what it is told
    assert len(answer.source_nodes) == 1


def test_a_page_whose_file_is_gone_is_found_and_says_so(gone):
    retriever = DocPrunerRetriever(gone, k=1, pictures=True)
    (node,) = retriever.retrieve("guest house")
    retriever.index.close()
    assert node.text == ""
    assert "travel-expense-form.pdf" in node.metadata["problem"]
