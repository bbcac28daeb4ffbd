"""The recipes of CONTRIBUTING.md, followed: a source, a search stage and an encoder of one's own;
and pages handed to a model.

The store is in the contract suite (tests/stores).
"""

from __future__ import annotations

import base64
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from docpruner import Index
from docpruner.search.searcher import find, questions
from docpruner.types import Filter
from pipeline.made import SAMPLES, builtin

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    yield
    for name in ("zip_source", "mean_stage", "spelling_encoder", "ask_with_pages"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def samples():
    with Index.create(None, encoder=builtin()) as index:
        index.add(SAMPLES, ocr=False)
        yield index


def test_documents_in_an_archive_are_indexed_and_brought_up_to_date(tmp_path):
    from zip_source import ZipSource

    archive = tmp_path / "reports.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.write(SAMPLES / "travel-expense-form.pdf", "forms/travel.pdf")
        zipped.writestr("forms/broken.pdf", "%PDF-1.7 and no more")
        zipped.writestr("notes.txt", "not a document")
    with Index.create(None, encoder=builtin()) as index:
        report = index.add_from(ZipSource(archive, pixels=None), metadata={"from": "zip"})
        assert (report.documents, report.outcome) == ({"added": 1}, "some")
        assert [entry.name for entry in index.documents()] == ["reports.zip/forms/travel.pdf"]
        assert index.search("guest house", metadata={"from": "zip"})[0].name.startswith(
            "travel.pdf"
        )
        with zipfile.ZipFile(archive, "a") as zipped:
            zipped.write(SAMPLES / "tidal-energy-article.pdf", "article.pdf")
        report = index.add_from(ZipSource(archive, pixels=None))
        assert report.documents == {"unchanged": 1, "added": 1}


def test_a_stage_by_means_is_exact_with_all_pages_and_cheaper_with_fewer(samples):
    from mean_stage import MeanStage

    asked = questions(samples.encoder, ["What does turbidity mean?", "cargo bike"])
    exact = find(samples._store, asked, 5)
    assert find(samples._store, asked, 5, first_stage=MeanStage(1000)) == exact
    for best, hits in zip(
        exact, find(samples._store, asked, 5, first_stage=MeanStage(8)), strict=True
    ):
        scores = {(hit.document, hit.page): hit.score for hit in best}
        assert len(hits) == 5
        assert all(hit.score == scores.get((hit.document, hit.page), hit.score) for hit in hits)
    slides = Filter(documents=("*slides*",))
    (hits, _) = find(samples._store, asked, 5, slides, first_stage=MeanStage(8))
    assert {Path(hit.document).name for hit in hits} == {"product-launch-slides.pdf"}


def test_an_encoder_of_ones_own_indexes_and_searches(tmp_path):
    from spelling_encoder import SpellingEncoder

    with Index.create(tmp_path / "index", encoder=SpellingEncoder()) as index:
        index.add(SAMPLES / "tidal-energy-article.pdf")
        right = index.search("turbine wake", 1)
        assert "turbine" in right[0].snippet().casefold()
        assert "turbine" in index.search("turbin", 1)[0].snippet().casefold()
    with Index.open(tmp_path / "index", encoder=SpellingEncoder()) as again:
        assert again.search("turbine wake", 1) == right


LEASE = "What does it cost to lease the cargo bike?"


def test_pages_become_messages_that_a_vision_model_takes(samples):
    from ask_with_pages import anthropic_request, openai_request

    hits = samples.search(LEASE, 2)
    system, user = openai_request(LEASE, hits)["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    kinds = [part["type"] for part in user["content"]]
    assert kinds == ["text", "image_url", "text", "image_url", "text"]
    assert user["content"][0]["text"].startswith("product-launch-slides.pdf, page 8:\n")
    assert "Lease" in user["content"][0]["text"]
    assert user["content"][-1]["text"] == LEASE
    url = user["content"][1]["image_url"]["url"]
    asked = anthropic_request(LEASE, hits)
    (message,) = asked["messages"]
    assert asked["max_tokens"] > 0
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image", "text", "image", "text"]
    source = message["content"][1]["source"]
    assert (source["type"], source["media_type"]) == ("base64", "image/png")
    assert url == f"data:image/png;base64,{source['data']}"
    with Image.open(io.BytesIO(base64.b64decode(source["data"]))) as picture:
        assert (picture.format, picture.width) == ("PNG", 1000)


def test_the_messages_are_printed_with_their_pictures_shortened(tmp_path, monkeypatch, capsys):
    import ask_with_pages

    with Index.create(tmp_path / "index", encoder=builtin()) as index:
        index.add(SAMPLES / "travel-expense-form.pdf")
    program = ["ask_with_pages.py", "guest house", "--index", str(tmp_path / "index"), "-k", "1"]
    monkeypatch.setattr(sys, "argv", program)
    ask_with_pages.main()
    (_, user) = json.loads(capsys.readouterr().out)["messages"]
    assert user["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert user["content"][1]["image_url"]["url"].endswith(" characters)")
