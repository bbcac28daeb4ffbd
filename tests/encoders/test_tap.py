"""The taps read what eager attention computes, and leave no trace in model or library.

The reference is always the same checkpoint run with eager kernels, whose attention modules hand
their full weights out. Jina v4's stand-in is among the families: it has attention code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask
from torch.testing import assert_close
from transformers import AutoModel, SiglipVisionConfig, SiglipVisionModel
from transformers.modeling_utils import AttentionInterface

from docpruner.encoders import global_attention, tap
from docpruner.encoders.global_attention import AttentionCall
from docpruner.encoders.tap import attention_layers, centrality_tap, importance_tap
from docpruner.errors import TapError

from . import tiny
from .jina import build_jina

pytestmark = [
    # transformers itself, when it prepares a page for PaliGemma
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

FAMILIES = [*tiny.FAMILIES, "Jina"]
SIZES = [(425, 550), (640, 360), (300, 300), (200, 600)]  # width, height
LAST_FULL = {"ColQwen3_5": 3, "ColModernVBert": 3, "ColGemma3": 1}  # 2 in the rest
MIDDLE = {"ColQwen3_5": [3], "ColModernVBert": [1, 2]}  # [1] in the rest
TOKEN_LISTS = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")


@dataclass(frozen=True)
class Subject:
    """A loaded model and what it takes to run it."""

    family: str
    model: Any
    processor: Any
    options: dict[str, Any] = field(default_factory=dict)

    def batch(self, pages: list[Image.Image]) -> dict[str, Tensor]:
        batch = dict(self.processor.process_images(pages))
        batch.pop("labels", None)  # ColPali's, which would want a loss
        return batch

    def embed(self, batch: dict[str, Tensor], **options: Any) -> Tensor:
        with torch.no_grad():
            output = self.model(**batch, **self.options, **options)
        return output.multi_vec_emb if self.family == "Jina" else output

    def is_patch(self, batch: dict[str, Tensor]) -> Tensor:
        return batch["input_ids"] == self.model.config.image_token_id

    def attention_modules(self) -> dict[int, nn.Module]:
        modules = {
            index: getattr(layer, "self_attn", None) or getattr(layer, "attn", None)
            for index, layer in enumerate(self.model.get_decoder().layers)
        }
        return {index: module for index, module in modules.items() if module is not None}

    def weights(self, batch: dict[str, Tensor]) -> dict[int, Tensor]:
        """What the attention modules return beside their states, (batch, heads, length, length)."""
        found: dict[int, Tensor] = {}
        with ExitStack() as hooks:
            for index, module in self.attention_modules().items():
                keep = _keeping(found, index)
                hooks.enter_context(module.register_forward_hook(keep))
            self.embed(batch, output_attentions=True)
        return found


def _keeping(found: dict[int, Tensor], index: int) -> Callable[..., None]:
    def keep(_module: nn.Module, _args: Any, output: Any) -> None:
        found[index] = output[1]

    return keep


@dataclass(frozen=True)
class Checkpoint:
    """One folder, loaded once with sdpa kernels and once with eager ones."""

    folder: Path
    subject: Subject
    eager: Subject


def _load(family: str, folder: Path, kernel: str) -> Subject:
    if family == "Jina":
        model = AutoModel.from_pretrained(
            folder, trust_remote_code=True, attn_implementation=kernel
        ).eval()
        return Subject(family, model, model.processor, {"task_label": "retrieval"})
    model, processor = tiny.load(family, folder)
    model.set_attn_implementation(kernel)
    return Subject(family, model, processor)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Checkpoint]:
    @cache
    def built(family: str) -> Checkpoint:
        folder = tmp_path_factory.mktemp(family)
        build_jina(folder) if family == "Jina" else tiny.build(family, folder)
        return Checkpoint(folder, _load(family, folder, "sdpa"), _load(family, folder, "eager"))

    return built


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, checkpoints) -> Checkpoint:
    return checkpoints(request.param)


@pytest.fixture(scope="module")
def subject(checkpoint: Checkpoint) -> Subject:
    return checkpoint.subject


@pytest.fixture(scope="module")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(height, width, 3) for width, height in SIZES]
    return [Image.fromarray(noise.integers(0, 255, shape, dtype=np.uint8)) for shape in shapes]


@pytest.fixture(scope="module")
def batch(subject: Subject, pages) -> dict[str, Tensor]:
    return subject.batch(pages)


@pytest.fixture(scope="module")
def weights(checkpoint: Checkpoint, batch) -> dict[int, Tensor]:
    return checkpoint.eager.weights(batch)


@pytest.fixture(autouse=True)
def _library_is_left_as_it_was() -> Iterator[None]:
    before = AttentionInterface.get_interface
    yield
    assert AttentionInterface.get_interface is before
    assert not global_attention._listeners


def row_of(weights: Tensor, real: Tensor, token: int) -> Tensor:
    """Mean over heads of the row of the `token`-th real token of each item, (batch, length)."""
    rows = [mask.nonzero()[token].item() for mask in real]
    return torch.stack([heads[:, row].mean(0) for heads, row in zip(weights, rows, strict=True)])


def padded(subject: Subject, batch: dict[str, Tensor], side: str, by: int = 5) -> dict[str, Tensor]:
    """ColPali and ColGemma3 give every page one length, so that nothing is padded by itself."""
    fill = {"input_ids": subject.processor.tokenizer.pad_token_id}
    width = (by, 0) if side == "left" else (0, by)
    longer = {
        name: nn.functional.pad(batch[name], width, value=fill.get(name, 0))
        for name in TOKEN_LISTS
        if name in batch
    }
    return {**batch, **longer}


def close(found: Tensor, expected: Tensor) -> None:
    assert_close(found, expected, atol=1e-5, rtol=0)


# What the importance tap reads


@pytest.mark.parametrize("count", [1, 4])
def test_importance_is_the_last_tokens_row_of_eager_attention(
    checkpoint: Checkpoint, pages, count: int
):
    subject = checkpoint.subject
    batch = subject.batch(pages[:count])
    with importance_tap(subject.model) as found:
        subject.embed(batch)
    weights = checkpoint.eager.weights(batch)[LAST_FULL.get(subject.family, 2)]
    close(found.importance, row_of(weights, batch["attention_mask"], -1))
    assert found.importance.dtype == torch.float32


def test_importance_sums_to_one_over_the_real_tokens_and_is_zero_on_padding(
    subject: Subject, batch
):
    batch = padded(subject, batch, subject.processor.tokenizer.padding_side)
    with importance_tap(subject.model) as found:
        subject.embed(batch)
    real = batch["attention_mask"].bool()
    assert not real.all()
    assert_close((found.importance * real).sum(1), torch.ones(len(SIZES)))
    assert not found.importance[~real].any()
    assert (found.importance >= 0).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_pages_importance_ignores_its_neighbours_and_its_padding(
    subject: Subject, pages, side: str, monkeypatch
):
    monkeypatch.setattr(subject.processor.tokenizer, "padding_side", side)
    batch = padded(subject, subject.batch(pages), side)
    assert batch["attention_mask"].diff().amin() == (0 if side == "left" else -1)
    with importance_tap(subject.model) as found:
        subject.embed(batch)
        together = found.importance
        for page, row, mask in zip(pages, together, batch["attention_mask"], strict=True):
            subject.embed(subject.batch([page]))
            close(row[mask.bool()], found.importance[0])


def test_every_layer_can_be_read(subject: Subject, batch, weights):
    """Sliding windows are among them: two in ColModernVBert, two in ColGemma3."""
    depth = subject.model.config.get_text_config().num_hidden_layers
    for layer, expected in weights.items():
        with (
            importance_tap(subject.model, layer=layer) as found,
            importance_tap(subject.model, layer=layer - depth) as from_the_end,
        ):
            subject.embed(batch)
        close(found.importance, row_of(expected, batch["attention_mask"], -1))
        assert torch.equal(from_the_end.importance, found.importance)


def test_layers_differ(weights):
    rows = [heads[:, :, -1].mean(1) for heads in weights.values()]
    for one, other in pairwise(rows):
        assert (one - other).abs().max() > 1e-3


@pytest.mark.parametrize("token", [0, -2])
def test_any_token_can_be_the_global_one(subject: Subject, batch, weights, token: int):
    with importance_tap(subject.model, global_token=token) as found:
        subject.embed(batch)
    expected = weights[LAST_FULL.get(subject.family, 2)]
    close(found.importance, row_of(expected, batch["attention_mask"], token))


def test_a_causal_models_first_token_sees_only_itself(checkpoints, pages):
    subject = checkpoints("ColQwen2_5").subject
    with importance_tap(subject.model, global_token=0) as found:
        subject.embed(subject.batch(pages[:1]))
    assert found.importance[0].tolist() == [1.0] + [0.0] * (found.importance.shape[1] - 1)


def test_a_bidirectional_models_first_token_sees_the_whole_page(checkpoints, pages):
    """Alone, a page comes without a mask: only the layer knows that it isn't causal."""
    checkpoint = checkpoints("ColModernVBert")
    batch = checkpoint.subject.batch(pages[:1])
    with importance_tap(checkpoint.subject.model, global_token=0) as found:
        checkpoint.subject.embed(batch)
    close(found.importance, checkpoint.eager.weights(batch)[3][:, :, 0].mean(1))
    assert (found.importance > 0).all()


def test_a_sliding_window_hides_all_but_the_last_nine_tokens(checkpoints, pages):
    """ColModernVBert's is 16 wide: eight to either side of a token, and itself."""
    subject = checkpoints("ColModernVBert").subject
    with importance_tap(subject.model, layer=1) as found:
        subject.embed(subject.batch(pages[:1]))
    assert (found.importance[0] > 0).nonzero().flatten().tolist() == list(
        range(found.importance.shape[1] - 9, found.importance.shape[1])
    )


def test_a_layer_without_attention_is_refused(checkpoints):
    model = checkpoints("ColQwen3_5").subject.model
    for layer in (0, 2, -4, 4, -5):
        expected = rf"layer {layer} has no attention to read; layers that have: 3$"
        with pytest.raises(TapError, match=expected), importance_tap(model, layer=layer):
            pass


def test_an_adapter_is_read_like_its_base(checkpoints, pages, tmp_path: Path):
    for family in ("ColQwen2_5", "ColModernVBert"):
        base, folder = checkpoints(family), tmp_path / family
        tiny.build_adapter(family, base.folder, folder)
        adapted, eager = _load(family, folder, "sdpa"), _load(family, folder, "eager")
        batch = adapted.batch(pages)
        importance = []
        for model in (base.subject, adapted):
            with importance_tap(model.model) as found:
                model.embed(batch)
            importance.append(found.importance)
        expected = eager.weights(batch)[LAST_FULL.get(family, 2)]
        close(importance[1], row_of(expected, batch["attention_mask"], -1))
        assert (importance[0] - importance[1]).abs().max() > 1e-3


def test_a_tap_holds_the_latest_pass(subject: Subject, pages):
    with importance_tap(subject.model) as found:
        lengths = []
        for count in (4, 1):
            subject.embed(subject.batch(pages[:count]))
            lengths.append(len(found.importance))
    assert lengths == [4, 1]


# Which tokens are real


def test_without_a_mask_every_token_is_real(checkpoints):
    """The text model inside, on its own, without any padding."""
    subject = checkpoints("ColQwen2").subject
    text = subject.model.get_decoder()
    ids = torch.arange(12).view(2, 6)
    with torch.no_grad():
        with importance_tap(text) as unmasked:
            text(input_ids=ids)
        with importance_tap(text) as masked:
            text(input_ids=ids, attention_mask=torch.ones_like(ids))
    close(unmasked.importance, masked.importance)


def test_a_call_of_forward_needs_the_mask_beforehand(subject: Subject, batch):
    with importance_tap(subject.model) as called:
        subject.embed(batch)
    mask = batch["attention_mask"]
    with torch.no_grad(), importance_tap(subject.model, attention_mask=mask) as found:
        subject.model.forward(**batch, **subject.options)
    assert torch.equal(found.importance, called.importance)


def test_a_call_of_forward_without_a_mask_is_refused(checkpoints, pages):
    """Or a page with padding on the right would get the importance that its padding pays."""
    subject = checkpoints("ColPali").subject
    batch = padded(subject, subject.batch(pages), "right")
    with (
        torch.no_grad(),
        importance_tap(subject.model),
        pytest.raises(TapError, match=r"which tokens are padding is unknown.*attention_mask"),
    ):
        subject.model.forward(**batch)


def test_jinas_own_encoding_is_read_with_its_padding(checkpoints, pages):
    """`encode_image` calls the model inside the PEFT model, in bfloat16, padded on the right."""
    subject = checkpoints("Jina").subject
    batch = subject.batch(pages)
    assert not batch["attention_mask"][:, -1].all()
    with torch.autocast("cpu", torch.bfloat16), importance_tap(subject.model) as called:
        subject.embed(batch)
    with importance_tap(subject.model) as found:
        subject.model.encode_image(pages, task="retrieval", return_multivector=True)
    assert torch.equal(found.importance, called.importance)


# What a tap leaves behind


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_embeddings_are_bit_identical_with_and_without(checkpoint: Checkpoint, pages, kernel: str):
    subject = checkpoint.subject if kernel == "sdpa" else checkpoint.eager
    for count in (1, 4):
        batch = subject.batch(pages[:count])
        plain = subject.embed(batch)
        with importance_tap(subject.model):
            tapped = subject.embed(batch)
        with centrality_tap(subject.model, subject.is_patch(batch)):
            measured = subject.embed(batch)
        assert torch.equal(plain, tapped)
        assert torch.equal(plain, measured)


def test_eager_kernels_are_read_as_well(checkpoint: Checkpoint, batch, weights):
    eager = checkpoint.eager
    with importance_tap(eager.model) as found:
        eager.embed(batch)
    expected = weights[LAST_FULL.get(eager.family, 2)]
    close(found.importance, row_of(expected, batch["attention_mask"], -1))


def _traces(model: Any) -> tuple[Any, ...]:
    """Everything a tap might have touched."""
    hooks = [
        (len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()
    ]
    kernels = [
        module.config._attn_implementation
        for module in model.modules()
        if hasattr(module, "config")
    ]
    return model.config.to_dict(), kernels, hooks, AttentionInterface.get_interface


def test_nothing_of_a_tap_remains(subject: Subject, batch):
    before = _traces(subject.model)
    with importance_tap(subject.model):
        subject.embed(batch)
        settings, kernels, hooks, interface = _traces(subject.model)
        assert (settings, kernels) == before[:2]
        assert hooks != before[2]
        assert interface is not before[3]
    assert _traces(subject.model) == before
    with centrality_tap(subject.model, subject.is_patch(batch)):
        subject.embed(batch)
    assert _traces(subject.model) == before


def _embed_and_fail(subject: Subject, batch: dict[str, Tensor]) -> None:
    subject.embed(batch)
    raise MemoryError("after the pass")


def test_nothing_of_a_tap_remains_after_an_error(subject: Subject, batch):
    before = _traces(subject.model)
    patches = subject.is_patch(batch)
    for opened in (importance_tap(subject.model), centrality_tap(subject.model, patches)):
        with pytest.raises(MemoryError, match="after the pass"), opened:
            _embed_and_fail(subject, batch)
        assert _traces(subject.model) == before
    with pytest.raises(TapError, match="layer 99"), importance_tap(subject.model, layer=99):
        pass
    assert _traces(subject.model) == before


# Centrality


def naive_centrality(weights: dict[int, Tensor], layers: list[int], patches: Tensor) -> Tensor:
    """Mean over layers, heads and patch rows of the full matrices."""
    pages = [
        torch.stack([weights[layer][page][:, rows].mean((0, 1)) for layer in layers]).mean(0)
        for page, rows in enumerate(patches)
    ]
    return torch.stack(pages)


def test_centrality_is_the_mean_patch_row_of_the_middle_layers(subject: Subject, batch, weights):
    patches = subject.is_patch(batch)
    with centrality_tap(subject.model, patches) as found:
        subject.embed(batch)
    close(found.importance, naive_centrality(weights, MIDDLE.get(subject.family, [1]), patches))
    assert_close(found.importance.sum(1), torch.ones(len(SIZES)))


def test_centrality_of_chosen_layers_in_any_order(subject: Subject, batch, weights):
    patches = subject.is_patch(batch)
    layers = list(weights)[::-1]
    with centrality_tap(subject.model, patches, layers=[-1, *layers[1:]]) as found:
        subject.embed(batch)
    close(found.importance, naive_centrality(weights, layers, patches))


def test_centrality_takes_a_few_rows_at_a_time(subject: Subject, batch, monkeypatch):
    patches = subject.is_patch(batch)
    with centrality_tap(subject.model, patches) as found:
        subject.embed(batch)
    at_once = []
    rows = AttentionCall.rows

    def counted(call: AttentionCall, positions: Tensor) -> Tensor:
        at_once.append(positions.shape[1])
        return rows(call, positions)

    monkeypatch.setattr(AttentionCall, "rows", counted)
    monkeypatch.setattr(tap, "ROWS_AT_ONCE", 7)
    with centrality_tap(subject.model, patches) as in_blocks:
        subject.embed(batch)
    close(in_blocks.importance, found.importance)
    assert set(at_once) == {7}  # full blocks, the last filled up with rows that don't count
    layers = len(MIDDLE.get(subject.family, [1]))
    assert len(at_once) == layers * -(-int(patches.sum(1).max()) // 7)


def test_centrality_of_a_page_without_patches_is_zero(checkpoints, pages):
    subject = checkpoints("ColQwen2").subject
    batch = subject.batch(pages[:2])
    patches = subject.is_patch(batch)
    patches[1] = False
    with centrality_tap(subject.model, patches) as found:
        subject.embed(batch)
    assert found.importance.sum(1).tolist() == pytest.approx([1, 0])


def test_centrality_starts_over_after_a_pass_that_failed(checkpoints, pages):
    """As it may when a batch was too large and a smaller one is tried."""
    subject = checkpoints("ColQwen2").subject
    batch = subject.batch(pages)
    patches = subject.is_patch(batch)
    with centrality_tap(subject.model, patches, layers=[0, 2]) as undisturbed:
        subject.embed(batch)

    def fail(*_: Any) -> None:
        raise MemoryError("too large")

    with centrality_tap(subject.model, patches, layers=[2, 0]) as found:
        with (
            pytest.raises(MemoryError, match="too large"),
            subject.attention_modules()[1].register_forward_pre_hook(fail),
        ):
            subject.embed(batch)
        subject.embed(batch)
    close(found.importance, undisturbed.importance)


# Several taps


def test_taps_can_be_nested(subject: Subject, batch, weights):
    patches, real = subject.is_patch(batch), batch["attention_mask"]
    last = LAST_FULL.get(subject.family, 2)
    with centrality_tap(subject.model, patches, layers=[last]) as centrality:
        with importance_tap(subject.model) as importance:
            subject.embed(batch)
        inside = centrality.importance
        subject.embed(batch)
    close(importance.importance, row_of(weights[last], real, -1))
    close(inside, naive_centrality(weights, [last], patches))
    close(centrality.importance, inside)


def test_two_taps_of_one_layer_each_read_their_own_token(subject: Subject, batch, weights):
    with (
        importance_tap(subject.model) as last,
        importance_tap(subject.model, global_token=-2) as other,
    ):
        subject.embed(batch)
    expected, real = weights[LAST_FULL.get(subject.family, 2)], batch["attention_mask"]
    close(last.importance, row_of(expected, real, -1))
    close(other.importance, row_of(expected, real, -2))


def test_taps_of_two_models_in_two_threads(checkpoints, pages):
    """Both are open before the first pass, and neither's end cuts the other off."""
    both, rounds = ("ColQwen2_5", "ColModernVBert"), 3
    together = Barrier(len(both), timeout=60)

    def read(family: str) -> list[Tensor]:
        subject = checkpoints(family).subject
        found = []
        for turn in range(rounds):
            batch = subject.batch(pages[turn:])
            with importance_tap(subject.model) as opened:
                together.wait()
                subject.embed(batch)
            found.append(opened.importance)
        return found

    for family in both:
        checkpoints(family)
    with ThreadPoolExecutor(len(both)) as pool:
        results = dict(zip(both, pool.map(read, both), strict=True))
    for family, found in results.items():
        eager = checkpoints(family).eager
        for turn, importance in enumerate(found):
            batch = eager.batch(pages[turn:])
            expected = eager.weights(batch)[LAST_FULL.get(family, 2)]
            close(importance, row_of(expected, batch["attention_mask"], -1))


@pytest.mark.parametrize("family", ["ColQwen2_5", "Jina"])
def test_taps_of_one_model_in_two_threads_hear_only_their_own(checkpoints, pages, family: str):
    subject = checkpoints(family).subject
    batches = [subject.batch(pages[:3]), subject.batch(pages[3:])]
    alone = []
    for batch in batches:
        with importance_tap(subject.model) as opened:
            subject.embed(batch)
        alone.append(opened.importance)
    together = Barrier(len(batches), timeout=60)

    def read(batch: dict[str, Tensor]) -> Tensor:
        with importance_tap(subject.model) as opened:
            together.wait()
            subject.embed(batch)
            together.wait()
            return opened.importance

    with ThreadPoolExecutor(len(batches)) as pool:
        for found, expected in zip(pool.map(read, batches), alone, strict=True):
            close(found, expected)


# What can't be read


def test_there_is_no_importance_before_a_pass(subject: Subject, batch):
    with importance_tap(subject.model) as found, pytest.raises(TapError, match="run the model"):
        found.importance  # noqa: B018
    with (
        centrality_tap(subject.model, subject.is_patch(batch)) as found,
        pytest.raises(TapError, match="inside the `with` block"),
    ):
        found.importance  # noqa: B018


def test_only_the_decoders_layers_are_found(subject: Subject):
    assert attention_layers(subject.model) == list(subject.attention_modules().values())


def test_a_model_without_a_decoder_is_refused():
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    config = SiglipVisionConfig(num_attention_heads=2, image_size=28, patch_size=14, **sizes)
    tower = SiglipVisionModel(config)
    expected = "SiglipVisionModel has no attention layers of a decoder to read"
    with pytest.raises(TapError, match=expected), importance_tap(tower):
        pass
    with pytest.raises(TapError, match=expected), centrality_tap(tower, torch.ones(1, 4)):
        pass


def test_a_plain_module_is_refused():
    with (
        pytest.raises(TapError, match="Linear has no attention layers of a decoder to read"),
        importance_tap(nn.Linear(2, 2)),
    ):
        pass


def test_a_block_mask_is_refused():
    """Flex attention itself can't run on a CPU without a compiler."""
    mask = create_block_mask(lambda _b, _h, q, k: q >= k, 1, 1, 128, 128, device="cpu")
    states = torch.zeros(1, 1, 128, 4)
    with pytest.raises(TapError, match=r'Linear runs with a BlockMask.*attn_implementation="sdpa"'):
        global_attention._call(nn.Linear(2, 2), states, states, mask, {})


class OwnAttention(nn.Module):
    """Looks no kernel up."""

    def __init__(self, config: Any, **parts: nn.Module) -> None:
        super().__init__()
        self.config, self.layer_idx, self.head_dim = config, 0, 4
        self.q_proj, self.k_proj = nn.Linear(4, 4), nn.Linear(4, 4)
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, states: Tensor, position_embeddings: Any = None) -> Tensor:
        del position_embeddings
        return self.q_proj(states) + self.k_proj(states)


class OwnModel(nn.Module):
    def __init__(self, **parts: nn.Module) -> None:
        super().__init__()
        self.config = SimpleNamespace(num_hidden_layers=1)
        self.config.get_text_config = lambda: self.config
        self.layer = OwnAttention(self.config, **parts)

    def forward(self, states: Tensor, rotary: Any) -> Tensor:
        return self.layer(states, position_embeddings=rotary)


def test_attention_of_another_configuration_is_not_the_decoders():
    model = OwnModel(tower=OwnAttention(SimpleNamespace()))
    assert attention_layers(model) == [model.layer]


@pytest.mark.parametrize(
    ("parts", "rotary"),
    [({}, None), ({"q_norm": nn.Identity(), "k_norm": nn.Identity()}, (1, 1))],
    ids=["no rotary embedding", "norms that come after the projections"],
)
def test_attention_code_that_is_too_different_is_refused(parts, rotary):
    model = OwnModel(**parts)
    with (
        importance_tap(model),
        pytest.raises(TapError, match="OwnAttention can't be read: it does not look its kernel up"),
    ):
        model(torch.zeros(1, 3, 4), rotary)


def test_attention_code_without_a_rotary_function_is_refused():
    model = OwnModel()
    with importance_tap(model), pytest.raises(TapError, match="test_tap has no rotary embedding"):
        model(torch.zeros(1, 3, 4), (1, 1))


# Rows of one call, against a loop

LENGTH = 6
LEFT = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
RIGHT = LEFT.flip(1)
DRAWN = torch.rand(2, 1, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.6
HIDDEN = torch.zeros(2, 1, LENGTH, LENGTH).masked_fill(~DRAWN, torch.finfo(torch.float32).min)
DRAWN[..., 0] = True  # every row sees something
HIDDEN[..., 0] = 0

Sees = Callable[[int, int, int], Any]  # item, row, column

MASKS: dict[str, tuple[dict[str, Any], Sees]] = {
    "none, both ways": ({}, lambda *_: True),
    "none, causal": ({"causal": True}, lambda _, r, c: c <= r),
    "none, causal, window": (
        {"causal": True, "window": 3},
        lambda _, r, c: c <= r and r - c < 3,
    ),
    "none, both ways, window": ({"window": 3}, lambda _, r, c: abs(r - c) < 3),
    "left padding": ({"mask": LEFT}, lambda b, _, c: LEFT[b, c]),
    "right padding": ({"mask": RIGHT}, lambda b, _, c: RIGHT[b, c]),
    "left padding, causal": (
        {"mask": LEFT, "causal": True},
        lambda b, r, c: LEFT[b, c] and c <= r,
    ),
    "right padding, causal": (
        {"mask": RIGHT, "causal": True},
        lambda b, r, c: RIGHT[b, c] and c <= r,
    ),
    "left padding, causal, window": (
        {"mask": LEFT, "causal": True, "window": 2},
        lambda b, r, c: LEFT[b, c] and c <= r and r - c < 2,
    ),
    "right padding, both ways, window": (
        {"mask": RIGHT, "window": 2},
        lambda b, r, c: RIGHT[b, c] and abs(r - c) < 2,
    ),
    "4-D boolean": ({"mask": DRAWN}, lambda b, r, c: DRAWN[b, 0, r, c]),
    "4-D additive": ({"mask": HIDDEN}, lambda b, r, c: DRAWN[b, 0, r, c]),
    "4-D, and flags that it stands for": (
        {"mask": DRAWN, "causal": True, "window": 1},
        lambda b, r, c: DRAWN[b, 0, r, c],
    ),
    "4-D, one for all items": ({"mask": DRAWN[:1]}, lambda _, r, c: DRAWN[0, 0, r, c]),
    "4-D, one for all rows": (
        {"mask": LEFT[:, None, None].bool()},
        lambda b, _, c: LEFT[b, c],
    ),
    "4-D, longer than the page": (
        {"mask": nn.functional.pad(DRAWN, (0, 3), value=True)},
        lambda b, r, c: DRAWN[b, 0, r, c],
    ),
}


def call_with(dtype: torch.dtype = torch.float32, heads: int = 4, **options: Any) -> AttentionCall:
    """Two items, two key heads."""
    random = torch.Generator().manual_seed(1)
    query = torch.randn(2, heads, LENGTH, 8, generator=random).to(dtype)
    key = torch.randn(2, 2, LENGTH, 8, generator=random).to(dtype)
    plain = {"mask": None, "causal": False, "window": None, "softcap": None}
    return AttentionCall(query, key, scaling=0.5, **{**plain, **options})


def looped(call: AttentionCall, positions: list[list[int]], sees: Sees) -> Tensor:
    query, key = call.query.double(), call.key.double()
    heads, sharing = query.shape[1], query.shape[1] // key.shape[1]
    rows = torch.zeros(len(positions), len(positions[0]), LENGTH, dtype=torch.float64)
    for item, wanted in enumerate(positions):
        for place, row in enumerate(wanted):
            seen = [column for column in range(LENGTH) if sees(item, row, column)]
            for head in range(heads if seen else 0):
                scores = key[item, head // sharing, seen] @ query[item, head, row] * call.scaling
                if call.softcap is not None:
                    scores = call.softcap * torch.tanh(scores / call.softcap)
                rows[item, place, seen] += scores.softmax(0) / heads
    return rows.float()


@pytest.mark.parametrize("heads", [2, 4, 6])
@pytest.mark.parametrize(("options", "sees"), MASKS.values(), ids=MASKS)
def test_rows_under_a_mask(options: dict[str, Any], sees: Sees, heads: int):
    call, positions = call_with(heads=heads, **options), [[5, 2, 0], [3, 3, 4]]
    assert_close(call.rows(torch.tensor(positions)), looped(call, positions, sees))


def test_a_row_that_sees_nothing_pays_nothing():
    """A padded token on the left of a causal model."""
    call = call_with(mask=LEFT, causal=True)
    assert not call.rows(torch.tensor([[1], [1]]))[0].any()


def test_an_additive_mask_may_also_weigh():
    bias = torch.zeros(2, 1, LENGTH, LENGTH)
    bias[..., 2] = -1.5
    call, positions = call_with(), torch.tensor([[4], [5]])
    weighed = call_with(mask=bias).rows(positions)
    assert (weighed < call.rows(positions)).nonzero()[:, 2].tolist() == [2, 2]


@pytest.mark.parametrize("softcap", [0.5, 30.0])
def test_rows_under_a_softcap(softcap: float):
    call, positions = call_with(softcap=softcap, causal=True), [[5, 1], [4, 2]]
    found = call.rows(torch.tensor(positions))
    assert_close(found, looped(call, positions, lambda _, r, c: c <= r))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rows_of_a_half_precision_model_are_computed_in_float32(dtype: torch.dtype):
    """Even under autocast, which would round the scores again."""
    mask = HIDDEN.clamp(min=torch.finfo(dtype).min).to(dtype)
    call, positions = call_with(dtype=dtype, mask=mask), [[5, 1], [4, 2]]
    expected = looped(call, positions, lambda b, r, c: DRAWN[b, 0, r, c])
    plain = call.rows(torch.tensor(positions))
    with torch.autocast("cpu", torch.bfloat16):
        cast = call.rows(torch.tensor(positions))
    assert plain.dtype == cast.dtype == torch.float32
    assert_close(plain, expected)
    assert_close(cast, expected)


def test_a_global_token_beyond_the_page_is_an_error():
    real = torch.tensor([[0, 0, 1, 1, 1]])
    assert tap._position(real, -3).tolist() == [[2]]
    for token in (-4, 3):
        with pytest.raises(TapError, match=f"global_token {token}: a page has only 3 tokens"):
            tap._position(real, token)
