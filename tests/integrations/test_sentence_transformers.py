"""PatchReduction inside real MultiVectorEncoders, on tiny random checkpoints loaded from disk."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs the st extra: pip install docpruner[st]")
pytest.importorskip("colpali_engine", reason="the tiny checkpoints need the vlm extra")

import torch
from peft import LoraConfig
from PIL import Image
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling
from torch import Tensor
from transformers import ModernBertConfig, ModernBertModel
from transformers.modeling_utils import AttentionInterface

from docpruner import SPECIAL, PageEmbedding, reducer
from docpruner.encoders import global_attention
from docpruner.encoders.tap import attention_layers
from docpruner.errors import (
    EncoderError,
    MissingExtraError,
    ReductionError,
    SpecError,
    TapError,
)
from docpruner.integrations.sentence_transformers import PatchReduction, reduce_documents
from encoders.tiny.vocabulary import modernvbert_tokenizer

from .checkpoints import DIM, KINDS

# transformers itself, when it prepares a page for PaliGemma
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = [(140, 112), (84, 84), (56, 168)]  # width, height
QUERIES = ["What is the total revenue?", "a"]
PATH = "docpruner.integrations.sentence_transformers.PatchReduction"

SENTENCE_TRANSFORMERS_OWN = {"modality", "num_images_per_sample"}

QWEN_GRIDS = [(4, 5), (3, 3), (6, 2)]
GRIDS = {
    "ColQwen2ForRetrieval": QWEN_GRIDS,
    "Qwen2.5 backbone": QWEN_GRIDS,
    "ColPaliForRetrieval": [(8, 8)] * 3,
}
SPECS = [
    "none",
    "random:ratio=0.5",
    "docpruner:k=-0.25",
    "docpruner:k=0.5",
    "attention-similarity:k=0,alpha=0.5,scale=minmax",
    "pivot-threshold:k=-0.25,k_dup=1,num_pivots=5",
    "attention-ratio:ratio=0.5",
    "sem-cluster:factor=2",
    "pool-1d:factor=4",
    "pool-2d:factor=4",
    "docpruner:k=-0.25+sem-cluster:factor=2",
]

every_kind = pytest.mark.parametrize("kind", KINDS)
both_kinds = pytest.mark.parametrize("kind", ["ColQwen2ForRetrieval", "Qwen2.5 backbone"])
one_kind = pytest.mark.parametrize("kind", ["Qwen2.5 backbone"])


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {kind: tmp_path_factory.mktemp("checkpoint") for kind in KINDS}
    for kind, folder in made.items():
        KINDS[kind](folder)
    return made


@pytest.fixture(scope="session")
def loaded(folders: dict[str, Path]) -> dict[str, MultiVectorEncoder]:
    """As they come from disk; tests change copies only."""
    return {kind: load(folder) for kind, folder in folders.items()}


@pytest.fixture
def folder(folders: dict[str, Path], kind: str) -> Path:
    return folders[kind]


@pytest.fixture
def plain(loaded: dict[str, MultiVectorEncoder], kind: str) -> MultiVectorEncoder:
    return loaded[kind]


@pytest.fixture
def reduced(plain: MultiVectorEncoder) -> Callable[..., MultiVectorEncoder]:
    """A copy of the plain model that reduces its documents by a spec."""
    return lambda *spec: reduce_documents(copy.deepcopy(plain), *spec)


@pytest.fixture(scope="session")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(height, width, 3) for width, height in SIZES]
    return [Image.fromarray(noise.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


def load(folder: Path, **options: Any) -> MultiVectorEncoder:
    return MultiVectorEncoder(str(folder), device="cpu", **options)


def equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def eager_attention(model: MultiVectorEncoder, features: dict[str, Any]) -> Tensor:
    """What the last token of each document pays to all, as the paper reads it: (batch, length)."""
    backbone = model[0].model
    backbone.set_attn_implementation("eager")
    with torch.no_grad():
        named = {k: v for k, v in features.items() if k not in SENTENCE_TRANSFORMERS_OWN}
        weights = backbone(**named, output_attentions=True).attentions[-1].mean(1)
    last = [int(mask.nonzero().max()) for mask in features["attention_mask"]]
    return weights[torch.arange(len(last)), last]


def is_patch(model: MultiVectorEncoder, ids: Tensor) -> Tensor:
    config = model[0].model.config
    return ids == getattr(config, "vlm_config", config).image_token_id


def pages_as_the_paper_sees_them(
    model: MultiVectorEncoder, images: list[Any], grids: list[tuple[int, int]]
) -> list[PageEmbedding]:
    """One pass for the vectors, one eager pass for the attention, one document at a time."""
    found = []
    for image, grid in zip(images, grids, strict=True):
        (vectors,) = model.encode_document([image])
        features = model.preprocess([image], task="document")
        (importance,) = eager_attention(model, features)
        model[0].model.set_attn_implementation("sdpa")
        on_page = is_patch(model, features["input_ids"][0]).numpy()
        cells = np.full(len(on_page), SPECIAL)
        cells[on_page] = np.arange(on_page.sum())
        name = f"image of {on_page.sum()} patches"
        found.append(
            PageEmbedding(name, vectors, importance, grid, cells, global_vector=vectors[-1])
        )
    return found


# What is left of a page


@pytest.mark.parametrize("kind", GRIDS)
def test_a_document_is_reduced_by_its_own_attention(plain, reduced, kind, pages):
    expected = pages_as_the_paper_sees_them(copy.deepcopy(plain), pages, GRIDS[kind])
    model = reduced("none")
    for spec in SPECS:
        model[-1].spec = spec
        for page, vectors in zip(expected, model.encode_document(pages), strict=True):
            want = reducer(spec)(page).vectors
            np.testing.assert_allclose(vectors, want, atol=2e-6, err_msg=spec)


@every_kind
def test_importance_is_the_attention_of_an_eager_pass(reduced, pages):
    model = reduced()
    features = model.preprocess(pages, task="document")
    found = model.encode_document(pages, output_value=None)
    want = eager_attention(model, features)
    for one, (importance, mask) in enumerate(zip(want, features["attention_mask"], strict=True)):
        got = found[one]["importance"]
        torch.testing.assert_close(got, importance, atol=5e-7, rtol=0)
        assert got[mask.bool()].sum() == pytest.approx(1)


@every_kind
def test_pruning_keeps_rows_of_the_page_bit_for_bit(plain, reduced, pages):
    whole = plain.encode_document(pages)
    for page, left in zip(whole, reduced().encode_document(pages), strict=True):
        rows = [int((page == row).all(1).nonzero()[0]) for row in left]
        assert rows == sorted(rows)
        assert len(rows) < len(page)
        assert left.shape[1] == DIM


@every_kind
def test_special_tokens_stay(plain, pages):
    model = copy.deepcopy(plain)
    whole = model.encode_document(pages)
    reduce_documents(model, "attention-ratio:ratio=1")
    for page, image, left in zip(whole, pages, model.encode_document(pages), strict=True):
        patches = is_patch(model, model.preprocess([image], task="document")["input_ids"][0])
        assert len(left) == (~patches).sum() + 1
        assert all((left == row).all(1).any() for row in page[~patches])


@both_kinds
def test_a_model_that_scores_patches_only_is_left_with_patches_only(plain, pages):
    model = copy.deepcopy(plain)
    config = model[0].model.config
    patch = getattr(config, "vlm_config", config).image_token_id
    next(m for m in model if hasattr(m, "keep_only_token_ids")).keep_only_token_ids = [patch]
    reduce_documents(model, "attention-ratio:ratio=0.5")
    assert [len(vectors) for vectors in model.encode_document(pages)] == [10, 5, 6]


@every_kind
def test_a_document_is_left_the_same_alone_and_among_others(reduced, pages):
    for spec in ("docpruner:k=0", "random:ratio=0.5", "sem-cluster:factor=2"):
        model = reduced(spec)
        together = model.encode_document(pages)
        alone = [model.encode_document([page])[0] for page in pages]
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


@both_kinds
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("spec", ["docpruner:k=0", "attention-similarity:k=0,alpha=0.5"])
def test_the_side_of_the_padding_does_not_matter(reduced, pages, side, spec):
    model = reduced(spec)
    alone = [model.encode_document([page])[0] for page in pages]
    model.tokenizer.padding_side = side
    torch.testing.assert_close(model.encode_document(pages), alone, atol=1e-5, rtol=0)


@both_kinds
@pytest.mark.parametrize("spec", ["docpruner:k=-0.25", "sem-cluster:factor=2"])
def test_vectors_keep_their_type(folder, pages, spec):
    half = {"model_kwargs": {"dtype": torch.bfloat16}}
    whole = load(folder, **half).encode_document(pages)
    left = reduce_documents(load(folder, **half), spec).encode_document(pages)
    assert [vectors.dtype for vectors in left] == [vectors.dtype for vectors in whole]
    assert all(len(few) < len(all_) for few, all_ in zip(left, whole, strict=True))


@pytest.mark.parametrize("kind", ["ModernVBERT backbone"])
def test_windows_of_a_page_in_tiles_lie_side_by_side(plain, reduced, pages):
    """A square of 4 × 4 tiles of 3 × 3 patches, and the page once more as 3 × 3 on top of them."""
    square = plain.encode_document(pages[1])
    left = reduced("pool-2d:factor=4").encode_document(pages[1])
    assert len(square) - len(left) == 12 * 12 + 9 - 6 * 6


# What is left alone


@every_kind
def test_queries_are_bit_identical(plain, reduced, pages):
    model = reduced("sem-cluster:factor=25")
    for queries in (QUERIES, pages):
        assert equal(model.encode_query(queries), plain.encode_query(queries))


@every_kind
def test_text_documents_are_bit_identical(plain, reduced):
    model = reduced("sem-cluster:factor=25")
    assert equal(model.encode_document(QUERIES), plain.encode_document(QUERIES))


def message(*parts: Any) -> list[dict[str, Any]]:
    kinds = {str: "text", Image.Image: "image"}
    content = [{"type": kinds[type(part)], kinds[type(part)]: part} for part in parts]
    return [{"role": "user", "content": content}]


@one_kind
def test_a_batch_may_hold_texts_and_documents_of_several_images(plain, reduced, pages):
    documents = [message(*pages[:2]), message("a text"), message(pages[2])]
    whole = plain.encode_document(documents)
    left = reduced("attention-ratio:ratio=0.5").encode_document(documents)
    fewer = [len(page) - len(few) for page, few in zip(whole, left, strict=True)]
    assert fewer == [(20 + 9) // 2, 0, 12 // 2]
    assert torch.equal(left[1], whole[1])


@one_kind
def test_two_pages_in_one_document_have_no_common_grid(reduced, pages):
    model = reduced("pool-2d:factor=4")
    with pytest.raises(ReductionError, match="29 patches: pool-2d needs a single page"):
        model.encode_document([message(*pages[:2])])
    mixed = [message("a text"), message(pages[2])]
    assert len(model.encode_document(mixed)[1]) == len(model.encode_document(pages)[2])


@pytest.mark.parametrize("kind", ["ColPaliForRetrieval"])
def test_four_square_pages_are_not_one_large_square(reduced):
    pages = reduced()[-1]._pages
    document = {"input_ids": torch.zeros(1, 256), "num_images_per_sample": torch.tensor([4])}
    assert pages.places(document, 0, patches=256) is None
    document["num_images_per_sample"] = torch.tensor([1])
    assert pages.places(document, 0, patches=256).grid == (16, 16)


# Saving, copying, sharing


@both_kinds
@pytest.mark.parametrize("spec", ["docpruner", "docpruner:k=0+sem-cluster:factor=2", "pool-2d"])
def test_a_saved_model_reduces_alike(reduced, pages, tmp_path, spec):
    model = reduced(spec)
    left = model.encode_document(pages)
    for generation in ("child", "grandchild"):
        model.save_pretrained(str(tmp_path / generation))
        model = load(tmp_path / generation, trust_remote_code=True)
        assert model[-1].spec == str(reducer(spec))
        assert equal(model.encode_document(pages), left)


@both_kinds
def test_what_is_written_into_a_saved_model(reduced, tmp_path):
    reduced("docpruner").save_pretrained(str(tmp_path))
    last = json.loads((tmp_path / "modules.json").read_text())[-1]
    assert last["type"] == PATH
    saved = json.loads((tmp_path / last["path"] / "config.json").read_text())
    assert saved == {"spec": "docpruner:k=-0.25"}
    with pytest.raises(ValueError, match=f"(?s){PATH}.*trust_remote_code"):
        load(tmp_path)


@both_kinds
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_model_reduces_alike(reduced, pages, copied):
    model = reduced()
    left = model.encode_document(pages)
    twin = copied(model)
    assert equal(twin.encode_document(pages), left)
    assert listeners(twin) != listeners(model)
    assert len(listeners(twin)) == 1


def listeners(model: MultiVectorEncoder) -> list[Any]:
    hooks = model[0]._forward_pre_hooks.values()
    return [hook.__self__ for hook in hooks if hasattr(hook, "__self__")]


@both_kinds
def test_models_may_share_a_transformer(plain, pages):
    base = copy.deepcopy(plain)
    whole = base.encode_document(pages)
    some, few = (
        MultiVectorEncoder(modules=[*base, PatchReduction(spec)], device="cpu")
        for spec in ("attention-ratio:ratio=0.5", "attention-ratio:ratio=0.9")
    )
    assert len(listeners(base)) == 1
    assert [len(vectors) for vectors in some.encode_document(pages)] == [10 + 11, 5 + 11, 6 + 11]
    assert [len(vectors) for vectors in few.encode_document(pages)] == [2 + 11, 1 + 11, 2 + 11]
    assert equal(base.encode_document(pages), whole)


@one_kind
def test_another_pooling_may_follow(reduced, pages):
    model = reduced("attention-ratio:ratio=0.5")
    model.append(HierarchicalTokenPooling(pool_factor=2, num_protected_tokens=0))
    assert [len(vectors) for vectors in model.encode_document(pages)] == [10, 8, 8]


@one_kind
def test_an_adapter_on_the_backbone_changes_importance_too(plain, pages):
    model = copy.deepcopy(plain)
    adapter = LoraConfig(r=4, target_modules=["q_proj", "k_proj"], init_lora_weights=False)
    model[0].model.add_adapter(adapter)
    (found,) = reduce_documents(model).encode_document(pages[:1], output_value=None)
    (want,) = eager_attention(model, model.preprocess(pages[:1], task="document"))
    torch.testing.assert_close(found["importance"], want, atol=5e-7, rtol=0)


@one_kind
def test_gradients_pass_through_pruning(reduced, pages):
    model = reduced()
    features = model.preprocess(pages, task="document")
    model(features, task="document")["token_embeddings"][..., 0].sum().backward()
    assert model[1].linear.weight.grad.any()
    merging = reduced("sem-cluster:factor=2")
    with pytest.raises(ReductionError, match="merged vectors have no gradient"):
        merging(merging.preprocess(pages, task="document"), task="document")


def test_the_snippets_of_the_docs_run(folders, pages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "sentence-transformers.md").read_text()
    text = text.replace("vidore/colqwen2.5-v0.2", str(folders["Qwen2.5 backbone"]))
    names: dict[str, Any] = {"images": pages}
    for snippet in re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(snippet, names)
    assert names["scores"].shape == (1, 3)
    assert equal(names["again"].encode_document(pages), names["pages"])


# When something goes wrong


def nobody_listens() -> bool:
    look_up = AttentionInterface.get_interface
    return not global_attention._listeners and look_up is global_attention._plain_look_up


@both_kinds
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_pass_that_fails_leaves_nothing_behind(reduced, pages, error):
    model = reduced()
    left = model.encode_document(pages)

    def fail(*_: Any) -> None:
        raise error("out of memory")

    layer = attention_layers(model[0].model)[0]
    with layer.register_forward_hook(fail), pytest.raises(error, match="out of memory"):
        model.encode_document(pages)
    if error is KeyboardInterrupt:  # for which torch calls no hook; the next pass tidies up
        model.encode_query(QUERIES)
    assert nobody_listens()
    assert equal(model.encode_document(pages), left)
    assert nobody_listens()


@one_kind
def test_a_query_in_another_thread_does_not_disturb(reduced, pages):
    model = reduced()
    left, vectors = model.encode_document(pages), model.encode_query(QUERIES)

    def ask_meanwhile(*_: Any) -> None:
        hook.remove()
        with ThreadPoolExecutor() as pool:
            assert equal(pool.submit(model.encode_query, QUERIES).result(), vectors)

    # Past the last attention layer, before the tap is closed.
    hook = model[0].model.language_model.norm.register_forward_hook(ask_meanwhile)
    assert equal(model.encode_document(pages), left)


@one_kind
def test_only_the_model_itself_can_reduce(plain, pages):
    model, alone = copy.deepcopy(plain), PatchReduction()
    with pytest.raises(EncoderError, match=r"put it into the model by reduce_documents"):
        model.encode_document(pages, token_pooling=alone)
    with pytest.raises(EncoderError, match=r"token_pooling= .* embeddings only"):
        model.encode_document(pages, token_pooling=alone, output_value=None)
    with pytest.raises(EncoderError, match=r"\.pool\(\) hand over embeddings only"):
        alone.pool(model.encode_document(pages))
    model.append(alone)
    with pytest.raises(EncoderError, match="attention of the very pass"):
        model.encode_document(pages)
    alone.on_model_ready(model)
    assert len(model.encode_document(pages)[0]) < 31
    with pytest.raises(EncoderError, match="attention of the very pass"):
        model.encode_document(pages, token_pooling=alone, output_value=None)


@one_kind
def test_an_exchanged_transformer_is_noticed(plain, reduced, pages):
    model = reduced()
    model[0] = copy.deepcopy(plain)[0]
    with pytest.raises(EncoderError, match="attention of the very pass"):
        model.encode_document(pages)


@one_kind
@pytest.mark.parametrize("earlier", [PatchReduction(), HierarchicalTokenPooling(pool_factor=2)])
def test_no_pooling_may_come_before(plain, earlier):
    model = copy.deepcopy(plain)
    model.append(earlier)
    with pytest.raises(EncoderError, match=f"{type(earlier).__name__} already.*join two specs by"):
        reduce_documents(model)
    assert len(model) == 5
    assert not listeners(model)


def test_a_spec_for_another_page_prompt_is_refused():
    with pytest.raises(SpecError, match="noise-filtering prompt, but a MultiVectorEncoder has its"):
        PatchReduction("attention-threshold-nfp:threshold=0.01")
    with pytest.raises(SpecError, match="Did you mean 'docpruner'"):
        PatchReduction("docprune")


@one_kind
def test_a_model_without_readable_attention_is_refused(plain):
    model = copy.deepcopy(plain)
    model[0].backend = "onnx"
    with pytest.raises(TapError, match=r'runs on onnx.*backend="torch"'):
        reduce_documents(model)
    with pytest.raises(EncoderError, match="has 2 Transformer modules"):
        PatchReduction().on_model_ready(torch.nn.Sequential(model[0], copy.deepcopy(plain)[0]))


def test_a_model_that_reads_no_images_is_refused(tmp_path):
    tokenizer = modernvbert_tokenizer()
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
        cls_token_id=tokenizer.cls_token_id,
        eos_token_id=tokenizer.sep_token_id,
        sep_token_id=tokenizer.sep_token_id,
    )
    ModernBertModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(EncoderError, match="ModernBertModel has no image_token_id"):
        reduce_documents(load(tmp_path))


def test_a_missing_library_is_named(monkeypatch):
    module = "docpruner.integrations.sentence_transformers"
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r'pip install "docpruner\[st\]"'):
        importlib.import_module(module)
