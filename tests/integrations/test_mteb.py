"""A pruned encoder run by mteb itself, on a small task of pictures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mteb", reason="needs the mteb extra: pip install docpruner[mteb]")

import mteb
import torch
from datasets import Dataset, Features, Image, Value
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.models_protocols import EncoderProtocol
from mteb.types import PromptType
from PIL import Image as Pictures

from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.encoders.registry import load_encoder
from docpruner.errors import EncoderError, MissingExtraError, SpecError
from docpruner.integrations.mteb import PrunedModel
from docpruner.maxsim import maxsim
from docpruner.types import PageEmbedding

COLOURS = {"red": (1.0, 0, 0), "green": (0, 1.0, 0), "blue": (0, 0, 1.0)}
LANGUAGES = {"english": ["eng-Latn"], "french": ["fra-Latn"]}


class ColourEncoder:
    """A vector for each of the four quarters of a page, of which the first matters most."""

    name, dim, prompt, reads, pixels = "some/colours@abc", 3, "default", "pixels", 10_000

    def __init__(self) -> None:
        self.pages = 0

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array([COLOURS[word] for word in text.split()], np.float32) for text in texts]

    def encode_pages(self, pages: Sequence[Pictures.Image]) -> list[PageEmbedding]:
        self.pages += len(pages)
        return [self._page(page) for page in pages]

    def _page(self, page: Pictures.Image) -> PageEmbedding:
        quarters = np.asarray(page.convert("RGB").resize((2, 2), 0), np.float32).reshape(4, 3)
        vectors = quarters / np.linalg.norm(quarters, axis=1, keepdims=True)
        return PageEmbedding("page", vectors, [0.7, 0.1, 0.1, 0.1], (2, 2))


def picture(important: str, rest: str) -> Pictures.Image:
    """Its first quarter in one colour, the others in another."""
    drawn = Pictures.new("RGB", (20, 20), rest)
    drawn.paste(Pictures.new("RGB", (10, 10), important), (0, 0))
    return drawn


class PicturesTask(AbsTaskRetrieval):
    """Three pages and a query for each, in two languages, loaded as the tasks of ViDoRe V2 are.

    The answer has the query's colour in its important quarter, another page in the other three.
    """

    metadata = TaskMetadata(
        name="PicturesTask",
        description="Pages by the colour of their first quarter.",
        reference=None,
        dataset={"path": "none/none", "revision": "1"},
        type="DocumentUnderstanding",
        category="t2i",
        eval_splits=["test"],
        eval_langs=LANGUAGES,
        main_score="ndcg_at_5",
        modalities=["text", "image"],
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )

    def load_data(self, **_: Any) -> None:
        pages = [picture("red", "green"), picture("green", "blue"), picture("blue", "red")]
        features = Features({"id": Value("string"), "image": Image()})
        corpus = Dataset.from_dict({"id": ["r", "g", "b"], "image": pages}, features=features)
        queries = Dataset.from_dict({"id": ["1", "2", "3"], "text": ["red", "green", "blue"]})
        answers = {"1": {"r": 1}, "2": {"g": 1}, "3": {"b": 1}}
        self.corpus = {language: {"test": corpus} for language in LANGUAGES}
        self.queries = {language: {"test": queries} for language in LANGUAGES}
        self.relevant_docs = {language: {"test": answers} for language in LANGUAGES}
        self.data_loaded = True


def scores(model: PrunedModel) -> dict[str, float]:
    result = mteb.evaluate(model, PicturesTask(), cache=None, show_progress_bar=False)
    return {score["hf_subset"]: score["ndcg_at_1"] for score in result[0].scores["test"]}


def test_mteb_measures_pruned_pages():
    """Only the important quarter is kept, so nothing but the answer has the query's colour."""
    model = PrunedModel(ColourEncoder(), "docpruner:k=0", codec="int8")
    assert isinstance(model, EncoderProtocol)
    assert scores(model) == {"english": 1.0, "french": 1.0}
    assert model.pruned == 0.75


def test_what_was_pruned_no_longer_scores():
    """With all quarters kept, two pages have each colour and tie: pruning is what tells them apart.

    Page r is red and green, g is green and blue, b is blue and red.
    """
    whole, pruned = (PrunedModel(ColourEncoder(), spec) for spec in ("none", "docpruner:k=0"))
    scores = [model.similarity(*encoded(model)) for model in (whole, pruned)]
    assert scores[0] == pytest.approx(np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]), abs=1e-2)
    assert scores[1] == pytest.approx(np.eye(3), abs=1e-2)
    assert whole.pruned == 0.0


def encoded(model: PrunedModel) -> tuple[Any, Any]:
    about = {"task_metadata": PicturesTask.metadata, "hf_split": "test", "hf_subset": "english"}
    pages = [picture("red", "green"), picture("green", "blue"), picture("blue", "red")]
    quiet: dict[str, Any] = {"show_progress_bar": False, "batch_size": 2}
    return (
        model.encode(
            [{"text": ["red", "green"]}, {"text": ["blue"]}],
            prompt_type=PromptType.query, **about, **quiet,
        ),
        model.encode(
            [{"image": pages[:2]}, {"image": pages[2:]}],
            prompt_type=PromptType.document, **about, **quiet,
        ),
    )  # fmt: skip


def test_every_picture_of_a_task_is_encoded_once():
    encoder = ColourEncoder()
    scores(PrunedModel(encoder))  # mteb asks for three pages in each of two languages
    assert encoder.pages == 3


def test_lists_of_vectors_are_scored_as_stored_pages_are():
    """mteb reranks with single pages and queries as tensors."""
    model = PrunedModel(ColourEncoder(), "none", codec="float32")
    queries, pages = encoded(model)
    listed = [torch.as_tensor(pages[number]) for number in range(len(pages))]
    asked = torch.as_tensor(queries[0]).unsqueeze(0)
    assert model.similarity(asked, listed) == pytest.approx(model.similarity(queries, pages)[:1])
    assert model.similarity_pairwise(queries, listed) == pytest.approx(
        [maxsim(query, [page])[0] for query, page in zip(queries, listed, strict=True)]
    )


def test_a_real_model_runs(tmp_path):
    pytest.importorskip("colpali_engine", reason="the tiny checkpoint needs the vlm extra")
    from encoders import tiny

    tiny.build("ColQwen2_5", tmp_path)
    model = PrunedModel(load_encoder(str(tmp_path), device="cpu"), "docpruner:k=0")
    assert scores(model).keys() == LANGUAGES.keys()
    assert 0 < model.pruned < 1
    assert model.mteb_model_meta.name == f"docpruner/{tmp_path.name}"


def test_results_are_filed_under_the_encoder_and_its_setting(tmp_path):
    cache = mteb.ResultCache(tmp_path)
    for spec in ("none", "docpruner:k=0"):
        model = PrunedModel(ColourEncoder(), spec, codec="float16")
        mteb.evaluate(model, PicturesTask(), cache=cache, show_progress_bar=False)
    files = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("PicturesTask.json"))
    assert len(files) == 2
    assert all("some__colours/abc" in file and "codec_float16" in file for file in files)
    assert "docpruner" in files[0] + files[1]


def test_an_encoder_of_words_is_refused():
    with pytest.raises(EncoderError, match="builtin-v2 reads words, but mteb has pictures"):
        PrunedModel(BuiltinEncoder())


def test_a_strategy_for_another_prompt_is_refused():
    with pytest.raises(SpecError, match="needs an encoder with the noise-filtering prompt"):
        PrunedModel(ColourEncoder(), "attention-threshold-nfp:threshold=0.1")


def test_a_task_without_pictures_is_refused():
    model = PrunedModel(ColourEncoder())
    with pytest.raises(EncoderError, match="PicturesTask lacks a column image"):
        model.encode(
            [{"text": ["a page of text"]}],
            task_metadata=PicturesTask.metadata,
            hf_split="test",
            hf_subset="english",
            prompt_type=PromptType.document,
            show_progress_bar=False,
        )


def test_without_mteb_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mteb.models.model_meta", None)
    monkeypatch.delitem(sys.modules, "docpruner.integrations.mteb")
    with pytest.raises(MissingExtraError, match=r'running mteb needs the "mteb" extra'):
        import docpruner.integrations.mteb  # noqa: F401
