"""Exports for transformers (…-hf) and for sentence-transformers, loaded as encoders by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs the st extra: pip install docpruner[st]")
pytest.importorskip("colpali_engine", reason="the tiny checkpoints need the vlm extra")

import torch
from PIL import Image
from sentence_transformers import MultiVectorEncoder
from transformers import (
    AutoProcessor,
    ColModernVBertForRetrieval,
    ColPaliForRetrieval,
    ColQwen2ForRetrieval,
)

from docpruner import SPECIAL, reducer
from docpruner.encoders import load_encoder
from docpruner.encoders.tap import attention_layers
from docpruner.errors import EncoderError
from docpruner.integrations.sentence_transformers import reduce_documents

from .checkpoints import (
    DIM,
    colmodernvbert_for_retrieval,
    colpali_for_retrieval,
    colqwen2_for_retrieval,
    modernvbert_backbone,
    qwen2_5_backbone,
)

# transformers itself, when it prepares a page for PaliGemma
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

EXPORTS = {
    "colqwen2": colqwen2_for_retrieval,
    "colpali": colpali_for_retrieval,
    "colmodernvbert": colmodernvbert_for_retrieval,
}
CLASSES = {
    "colqwen2": ColQwen2ForRetrieval,
    "colpali": ColPaliForRetrieval,
    "colmodernvbert": ColModernVBertForRetrieval,
}
BACKBONES = {"qwen2.5": qwen2_5_backbone, "modernvbert": modernvbert_backbone}
GRIDS = {
    "colqwen2": [(4, 5), (3, 3), (6, 2)],
    "colpali": [(8, 8)] * 3,
    "colmodernvbert": [(12, 12), (12, 12), (12, 6)],
    "qwen2.5": [(4, 5), (3, 3), (6, 2)],
    "modernvbert": [(12, 12), (12, 12), (12, 6)],
}
QUERIES = ["What is the total revenue?", "a"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp("checkpoint") for name in (*EXPORTS, *BACKBONES)}
    for name, make in (*EXPORTS.items(), *BACKBONES.items()):
        make(made[name])
    return made


@pytest.fixture(scope="module")
def encoders(folders: dict[str, Path]) -> dict[str, Any]:
    return {name: load_encoder(str(folder), batch_size=4) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(112, 140, 3), (84, 84, 3), (168, 56, 3)]
    return [Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


every = pytest.mark.parametrize("name", [*EXPORTS, *BACKBONES])


@every
def test_pages_and_queries_do_not_depend_on_their_batch(encoders, pages, name):
    encoder = encoders[name]
    together = encoder.encode_pages(pages)
    assert [page.grid for page in together] == GRIDS[name]
    for page, one in zip(together, pages, strict=True):
        (alone,) = encoder.encode_pages([one])
        assert page.dim == encoder.dim == DIM
        assert page.vectors == pytest.approx(alone.vectors, abs=1e-5)
        assert page.importance == pytest.approx(alone.importance, abs=1e-6)
        assert page.importance.sum() == pytest.approx(1, abs=1e-4)  # a whole attention row
        assert set(page.cells[page.patches]) == set(range(page.grid[0] * page.grid[1]))
        assert (page.cells == SPECIAL).sum() >= 5
    for vectors, text in zip(encoder.encode_queries(QUERIES), QUERIES, strict=True):
        assert vectors == pytest.approx(encoder.encode_queries([text])[0], abs=1e-5)
        assert len(encoder.query_words(text)) == len(vectors)


@pytest.mark.parametrize("name", EXPORTS)
def test_vectors_and_importance_are_those_of_transformers_itself(folders, encoders, pages, name):
    model = CLASSES[name].from_pretrained(folders[name], attn_implementation="eager").eval()
    processor = AutoProcessor.from_pretrained(folders[name])
    layers = attention_layers(model)
    full = [layer for layer in layers if getattr(layer, "sliding_window", None) is None]
    for page, image in zip(encoders[name].encode_pages(pages), pages, strict=True):
        weights: list[torch.Tensor] = []
        hook = (full or layers)[-1].register_forward_hook(
            lambda *call, seen=weights: seen.append(call[-1][1])
        )
        with hook, torch.no_grad():
            vectors = model(**processor.process_images([image])).embeddings[0]
        assert page.vectors == pytest.approx(vectors.numpy(), abs=1e-5)
        assert page.importance == pytest.approx(weights[0][0, :, -1].mean(0).numpy(), abs=1e-5)
    queries = processor.process_queries(QUERIES[:1])
    if name == "colpali":
        queries["token_type_ids"] = torch.zeros_like(queries["input_ids"])
    with torch.no_grad():
        expected = model(**queries).embeddings[0].numpy()
    assert encoders[name].encode_queries(QUERIES[:1])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["colqwen2", "qwen2.5", "modernvbert"])
def test_sentence_transformers_has_the_same_queries_and_what_is_left_of_pages(
    folders, encoders, pages, name
):
    spec = "docpruner:k=-0.25"
    model = reduce_documents(MultiVectorEncoder(str(folders[name]), device="cpu"), spec)
    for ours, theirs in zip(
        encoders[name].encode_queries(QUERIES), model.encode_query(QUERIES), strict=True
    ):
        assert ours == pytest.approx(theirs.numpy(), abs=1e-5)
    reduce = reducer(spec)
    for page, left in zip(
        encoders[name].encode_pages(pages), model.encode_document(pages), strict=True
    ):
        assert reduce(page).vectors == pytest.approx(left.numpy(), abs=1e-5)


@pytest.mark.parametrize("name", BACKBONES)
def test_plain_pages_are_the_same_vectors(encoders, pages, name):
    encoder = encoders[name]
    for page, plain in zip(encoder.encode_pages(pages), encoder.encode_plain(pages), strict=True):
        assert page.vectors == pytest.approx(plain, abs=1e-5)


def test_what_its_files_say_cannot_be_set(folders):
    with pytest.raises(
        EncoderError, match=r"as its own files say: .*queries and max_visual_tokens can't be set"
    ):
        load_encoder(str(folders["qwen2.5"]), query_prefix="Query: ")
    with pytest.raises(EncoderError, match="ColQwen2Processor writes queries in a form of its own"):
        load_encoder(str(folders["colqwen2"]), query_prefix="")


def test_models_that_nothing_can_run_say_what_would_be_needed(tmp_path):
    """Such as nvidia's ColEmbed or IBM's granite-vision embedding, with code of their own."""
    config = {"model_type": "llama_nemoretrievercolembed", "auto_map": {"AutoModel": "a.B"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(EncoderError, match=r"code of its own.*modules\.json.*encoder of your own"):
        load_encoder(str(tmp_path))


def test_a_form_that_sentence_transformers_cannot_load_is_a_clear_error(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "unknown_vlm"}))
    (tmp_path / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": "somebody.Module"}])
    )
    with pytest.raises(EncoderError, match=r"by sentence-transformers(.|\n)*allow it"):
        load_encoder(str(tmp_path))
