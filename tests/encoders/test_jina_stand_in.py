"""The stand-in for Jina Embeddings v4 behaves as its remote code does where the tap looks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra vlm")
pytest.importorskip("transformers", reason="needs the extra vlm")
pytest.importorskip("peft", reason="needs the extra vlm")

from PIL import Image  # noqa: E402
from transformers import AutoModel  # noqa: E402
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: E402

from .jina import build_jina  # noqa: E402

PROMPT_TOKENS = len("user\n" + "Describe the image." + "\n") + 4  # bytes, and four special tokens
SIZES = ((140, 112), (84, 84), (56, 168))  # 5 x 4, 3 x 3 and 2 x 6 patches of 28 pixels
PATCHES = (20, 9, 12)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_jina(tmp_path_factory.mktemp("jina"))


@pytest.fixture(scope="module")
def model(checkpoint: Path) -> Any:
    return AutoModel.from_pretrained(checkpoint, trust_remote_code=True).eval()


@pytest.fixture(scope="module")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(height, width, 3) for width, height in SIZES]
    return [Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


def last_attention(model: Any) -> Any:
    return model.base_model.model.model.language_model.layers[-1].self_attn


def forward(model: Any, batch: Any, **options: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(task_label="retrieval", **batch, **options).multi_vec_emb


def weights_of_the_last_layer(model: Any, batch: Any) -> torch.Tensor:
    seen: list[torch.Tensor] = []
    hook = last_attention(model).register_forward_hook(lambda *call: seen.append(call[-1][1]))
    forward(model, batch, output_attentions=True)
    hook.remove()
    return seen[0]


def arguments_of_the_last_layer(model: Any, batch: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    seen: list[Any] = []
    hook = last_attention(model).register_forward_pre_hook(
        lambda _layer, args, kwargs: seen.append((args, kwargs)), with_kwargs=True
    )
    forward(model, batch)
    hook.remove()
    return seen[0]


def test_loading_gives_a_peft_model_around_the_remote_code(model: Any) -> None:
    assert type(model).__name__ == "PeftModelForFeatureExtraction"
    assert type(model.base_model.model).__name__ == "JinaEmbeddingsV4Model"
    assert type(last_attention(model)).__name__ == "Qwen2_5_VLSdpaAttention"
    assert type(last_attention(model).q_proj).__name__ == "MultiAdapterLinear"


def test_a_page_keeps_a_vector_for_every_token_of_prompt_and_image(
    model: Any, pages: list[Image.Image]
) -> None:
    vectors = model.encode_image(pages, task="retrieval", return_multivector=True)
    assert [page.shape for page in vectors] == [(PROMPT_TOKENS + n, 128) for n in PATCHES]
    norms = torch.cat(vectors).float().norm(dim=-1)
    assert torch.allclose(norms, torch.ones_like(norms), atol=0.01)


def test_a_single_page_comes_back_without_a_list(model: Any, pages: list[Image.Image]) -> None:
    vectors = model.encode_image(pages[1], task="retrieval", return_multivector=True)
    assert vectors.shape == (PROMPT_TOKENS + 9, 128)
    assert model.encode_image(pages[1], task="retrieval").shape == (64,)


def test_a_query_keeps_a_vector_for_every_byte_and_its_prefix(model: Any) -> None:
    query, word = model.encode_text(["a red sofa", "a"], task="retrieval", return_multivector=True)
    assert query.shape == (len("Query: a red sofa"), 128)
    assert word.shape == (len("Query: a"), 128)


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_pages_vectors_ignore_its_neighbours(
    model: Any, pages: list[Image.Image], side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = model.processor.process_images
    monkeypatch.setattr(model.processor.tokenizer, "padding_side", side)
    together = process(pages)
    assert together["attention_mask"].sum(1).tolist() == [PROMPT_TOKENS + n for n in PATCHES]
    for page, vectors, real in zip(
        pages, forward(model, together), together["attention_mask"].bool(), strict=True
    ):
        torch.testing.assert_close(vectors[real], forward(model, process([page]))[0])


def test_encoding_three_pages_is_encoding_each(model: Any, pages: list[Image.Image]) -> None:
    together = model.encode_image(pages, task="retrieval", return_multivector=True, batch_size=3)
    alone = model.encode_image(pages, task="retrieval", return_multivector=True, batch_size=1)
    for one, other in zip(together, alone, strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one, other, atol=0.02, rtol=0.0)


def test_a_texts_vectors_ignore_its_neighbours(model: Any) -> None:
    process = model.processor.process_texts
    together = forward(model, process(["a red sofa", "a"], prefix="Query"))
    alone = forward(model, process(["a"], prefix="Query"))
    torch.testing.assert_close(together[1, : alone.shape[1]], alone[0])


def test_each_task_has_its_own_vectors(model: Any) -> None:
    batch = model.processor.process_texts(["sofa", "sofa"], prefix="Query")
    with torch.no_grad():
        mixed = model(task_label=["retrieval", "code"], **batch).multi_vec_emb
    torch.testing.assert_close(mixed[0], forward(model, batch)[0])
    assert not torch.allclose(mixed[0], mixed[1], atol=0.1)


def test_an_unknown_task_is_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"Invalid task: search\. Must be one of \['retrieval'"):
        model.encode_text(["sofa"], task="search")


def test_the_registry_of_transformers_is_never_asked(
    model: Any, pages: list[Image.Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise AssertionError("a kernel of the registry was called")

    for name in ("sdpa", "eager"):
        monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, name, refuse)
    assert torch.isfinite(forward(model, model.processor.process_images(pages))).all()


def test_the_last_layer_gets_everything_by_keyword(model: Any, pages: list[Image.Image]) -> None:
    args, kwargs = arguments_of_the_last_layer(model, model.processor.process_images(pages))
    length = PROMPT_TOKENS + 20
    cos, sin = kwargs["position_embeddings"]
    assert args == ()
    assert kwargs["task_label"] == "retrieval"
    assert kwargs["hidden_states"].shape == (3, length, 64)
    assert kwargs["attention_mask"].shape == (3, 1, length, length)
    assert cos.shape == sin.shape == (3, 3, length, 16)  # first time, row and column, then pages


def test_without_padding_the_last_layer_gets_no_mask(model: Any, pages: list[Image.Image]) -> None:
    _, kwargs = arguments_of_the_last_layer(model, model.processor.process_images(pages[:1]))
    assert kwargs["attention_mask"] is None


@pytest.mark.parametrize("side", ["right", "left"])
def test_eager_weights_are_causal_and_skip_the_padding(
    model: Any, pages: list[Image.Image], side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model.processor.tokenizer, "padding_side", side)
    batch = model.processor.process_images(pages)
    weights = weights_of_the_last_layer(model, batch)
    assert weights.shape == (3, 4, PROMPT_TOKENS + 20, PROMPT_TOKENS + 20)
    for page, real in zip(weights, batch["attention_mask"].bool(), strict=True):
        seen = page[:, real]
        torch.testing.assert_close(seen[:, :, real].sum(-1), torch.ones(seen.shape[:2]))
        assert seen[:, :, real].triu(1).abs().max() == 0
        assert torch.all(seen[:, :, ~real] == 0)


def test_sdpa_and_eager_give_the_same_vectors(
    model: Any, checkpoint: Path, pages: list[Image.Image]
) -> None:
    eager = AutoModel.from_pretrained(
        checkpoint, trust_remote_code=True, attn_implementation="eager"
    ).eval()
    assert type(last_attention(eager)).__name__ == "Qwen2_5_VLAttention"
    batch = eager.processor.process_images(pages)
    torch.testing.assert_close(forward(eager, batch), forward(model, batch))


def test_the_same_seed_writes_the_same_weights(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("model.safetensors", "adapters/adapter_model.safetensors"):
        again = build_jina(tmp_path / "again") / name
        other = build_jina(tmp_path / "other", seed=1) / name
        assert again.read_bytes() == (checkpoint / name).read_bytes()
        assert other.read_bytes() != again.read_bytes()
