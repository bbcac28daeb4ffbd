"""Jina v4 as an encoder. It runs with transformers 4 too, as `make jina` does: what it needs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra jina or vlm")
pytest.importorskip("transformers", reason="needs the extra jina or vlm")
pytest.importorskip("peft", reason="needs the extra jina or vlm")

from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers import AutoModel  # noqa: E402

from docpruner import reducer  # noqa: E402
from docpruner.encoders import load_encoder  # noqa: E402
from docpruner.errors import EncoderError  # noqa: E402

from .jina import build_jina  # noqa: E402

ADAPTER = "adapters/adapter_model.safetensors"
SIZES = [(140, 112), (84, 84), (56, 168)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_jina(tmp_path_factory.mktemp("jina"))


@pytest.fixture(scope="module")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(height, width, 3) for width, height in SIZES]
    return [Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


def load(folder: Path, **options: Any) -> Any:
    return load_encoder(str(folder), trust_remote_code=True, batch_size=3, **options)


def test_vectors_and_importance_are_those_of_an_eager_pass(checkpoint, pages):
    eager = AutoModel.from_pretrained(
        checkpoint, trust_remote_code=True, attn_implementation="eager"
    ).eval()
    last = eager.base_model.model.model.language_model.layers[-1].self_attn
    for page, image in zip(load(checkpoint).encode_pages(pages), pages, strict=True):
        weights: list[Any] = []
        with (
            last.register_forward_hook(lambda *call, seen=weights: seen.append(call[-1][1])),
            torch.no_grad(),
        ):
            batch = eager.processor.process_images([image])
            vectors = eager(task_label="retrieval", output_attentions=True, **batch).multi_vec_emb
        assert page.vectors == pytest.approx(vectors[0].numpy(), abs=1e-5)
        assert page.importance == pytest.approx(weights[0][0, :, -1].mean(0).numpy(), abs=1e-5)
        assert page.grid[0] * page.grid[1] == len(page.patches)
        assert 0 < reducer("docpruner:k=0")(page).pruned < 1


def test_queries_have_the_prefix_that_its_own_code_writes(checkpoint):
    encoder = load(checkpoint)
    assert "".join(encoder.query_words("a sofa")) == "Query: a sofa"
    theirs = AutoModel.from_pretrained(checkpoint, trust_remote_code=True).eval()
    batch = theirs.processor.process_texts(["a sofa"], prefix="Query")
    with torch.no_grad():
        expected = theirs(task_label="retrieval", **batch).multi_vec_emb[0].numpy()
    assert encoder.encode_queries(["a sofa"])[0] == pytest.approx(expected, abs=1e-5)


def test_the_noise_filtering_prompt_is_written(checkpoint, pages):
    (page,) = load(checkpoint, prompt="noise-filtering").encode_pages(pages[:1])
    (plain,) = load(checkpoint).encode_pages(pages[:1])
    assert len(page.vectors) > len(plain.vectors)
    assert len(page.patches) == len(plain.patches)


def changed(checkpoint: Path, folder: Path, change: Any) -> Path:
    shutil.copytree(checkpoint, folder)
    tensors = change(load_file(folder / ADAPTER))
    save_file(tensors, folder / ADAPTER, metadata={"format": "pt"})
    return folder


@pytest.mark.filterwarnings("ignore:Found missing adapter keys:UserWarning")
def test_an_adapter_weight_that_is_missing_is_named(checkpoint, tmp_path):
    def without_one(tensors: dict[str, Any]) -> dict[str, Any]:
        gone = next(name for name in tensors if "layers.1.self_attn.q_proj.lora_B" in name)
        return {name: tensor for name, tensor in tensors.items() if name != gone}

    folder = changed(checkpoint, tmp_path / "torn", without_one)
    with pytest.raises(EncoderError, match=r"lacks the adapter weight .*1\.self_attn\.q_proj\.lor"):
        load(folder)


@pytest.mark.filterwarnings("ignore:Found missing adapter keys:UserWarning")
def test_adapters_that_peft_leaves_out_are_an_error(checkpoint, monkeypatch):
    """As peft 0.21 does: it finds none of the names, and warns."""
    import peft.peft_model

    real = peft.peft_model.load_peft_weights
    monkeypatch.setattr(
        "peft.peft_model.load_peft_weights",
        lambda *given, **named: {f"other.{k}": v for k, v in real(*given, **named).items()},
    )
    with pytest.raises(EncoderError, match=r"was not loaded by peft .*0\.15\.2 to 0\.20 do"):
        load(checkpoint)


def test_adapters_of_zeros_are_an_error(checkpoint, tmp_path):
    def zeros(tensors: dict[str, Any]) -> dict[str, Any]:
        return {
            name: torch.zeros_like(tensor) if "lora_B" in name else tensor
            for name, tensor in tensors.items()
        }

    with pytest.raises(EncoderError, match="runs without its adapters: they are all zero"):
        load(changed(checkpoint, tmp_path / "zeros", zeros))


def test_a_checkpoint_without_its_adapters_is_an_error(checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path / "bare")
    encoder = load(tmp_path / "bare")
    assert encoder.name == str(tmp_path / "bare")
    (tmp_path / "bare" / ADAPTER).unlink()
    with pytest.raises(EncoderError, match=r"lacks adapters/adapter_model\.safetensors"):
        load(tmp_path / "bare")
