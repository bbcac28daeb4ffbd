"""Facts about the ColVision families that the encoder is written against.

They hold for the published checkpoints as well, up to the numbers of vectors and layers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedModel, ProcessorMixin

from . import tiny

# transformers itself, when it prepares a page for PaliGemma
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = [(425, 550), (640, 360), (300, 300)]  # width, height: a page, a slide, a square
QUERIES = ["What is the total revenue?", "Wie hoch ist der Umsatz im März?"]

QWEN_ENDING = [".", "<|im_end|>", "<|endoftext|>"]
TILE_ENDING = ["<end_of_utterance>", "Ċ", "Assistant", ":"]


@dataclass(frozen=True)
class Facts:
    """`grids` are (rows, columns) of vectors for each of the pages; `extra` comes on top."""

    ending: list[str]
    grids: list[tuple[int, int]]
    dim: int = 128
    extra: int = 0
    pads: str = "left"
    layers: str = "language_model.layers"
    full_attention: int = 2


QWEN_GRIDS = [(11, 8), (7, 13), (9, 9)]
TILE = 3  # vectors per side of a tile
TILE_GRIDS = [(12, 12), (9, 12), (12, 12)]
SQUARES = [(8, 8)] * 3

FACTS = {
    "ColPali": Facts(
        ["<bos>", "<bos>", "Describe", "▁the", "▁image", ".", "\n"],
        SQUARES,
        pads="right",
        layers="model.model.language_model.layers",
    ),
    "ColQwen2": Facts(QWEN_ENDING, QWEN_GRIDS),
    "ColQwen2_5": Facts(QWEN_ENDING, QWEN_GRIDS),
    "ColQwen3": Facts(QWEN_ENDING, QWEN_GRIDS, dim=320),
    "ColQwen3_5": Facts(QWEN_ENDING, QWEN_GRIDS, full_attention=3),
    "ColIdefics3": Facts(TILE_ENDING, TILE_GRIDS, extra=TILE**2, layers="model.text_model.layers"),
    "ColModernVBert": Facts(
        [*TILE_ENDING, "[SEP]"],
        TILE_GRIDS,
        extra=TILE**2,
        layers="model.text_model.layers",
        full_attention=3,
    ),
    "ColGemma3": Facts(["▁image", "<end_of_turn>", "\n"], SQUARES, full_attention=1),
}


@dataclass(frozen=True)
class Loaded:
    family: str
    folder: Path
    model: PreTrainedModel
    processor: ProcessorMixin

    @property
    def facts(self) -> Facts:
        return FACTS[self.family]

    def embed(self, batch: Any) -> torch.Tensor:
        with torch.no_grad():
            return self.model(**batch)

    def tokens(self, ids: torch.Tensor) -> list[str]:
        return self.processor.tokenizer.convert_ids_to_tokens(ids.tolist())

    def is_patch(self, batch: Any) -> torch.Tensor:
        """ColGemma3's processor has no `get_image_mask`, and its `image_token_id` is another."""
        return batch["input_ids"] == self.model.config.image_token_id


@pytest.fixture(scope="module", params=FACTS)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    folder = tmp_path_factory.mktemp(request.param)
    tiny.build(request.param, folder)
    return Loaded(request.param, folder, *tiny.load(request.param, folder))


@pytest.fixture(scope="module")
def pages() -> list[Image.Image]:
    noise = np.random.default_rng(0)
    shapes = [(height, width, 3) for width, height in SIZES]
    return [Image.fromarray(noise.integers(0, 255, shape, dtype=np.uint8)) for shape in shapes]


@pytest.fixture(scope="module")
def batch(loaded: Loaded, pages: list[Image.Image]) -> Any:
    return loaded.processor.process_images(pages)


@pytest.fixture(scope="module")
def vectors(loaded: Loaded, batch: Any) -> torch.Tensor:
    return loaded.embed(batch)


def test_every_family_has_its_facts():
    assert set(FACTS) == set(tiny.FAMILIES)


def test_every_tensor_finds_its_place(loaded: Loaded):
    _, report = type(loaded.model).from_pretrained(loaded.folder, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))


def test_the_seed_decides_the_weights(tmp_path: Path):
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        tiny.build("ColQwen2", tmp_path / name, seed=seed)
    one, two, three = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "three")
    )
    assert one == two
    assert one != three


def test_real_tokens_have_unit_vectors_and_padding_has_zeros(loaded: Loaded, batch, vectors):
    assert vectors.shape[-1] == loaded.facts.dim
    torch.testing.assert_close(vectors.norm(dim=-1), batch["attention_mask"].float())


def test_a_page_has_the_same_vectors_alone_and_among_others(loaded: Loaded, pages, batch, vectors):
    for page, together, real in zip(pages, vectors, batch["attention_mask"].bool(), strict=True):
        alone = loaded.embed(loaded.processor.process_images([page]))[0]
        torch.testing.assert_close(together[real], alone, atol=1e-4, rtol=0)


def test_a_page_prompt_ends_the_same_for_every_page(loaded: Loaded, batch):
    for ids, real in zip(batch["input_ids"], batch["attention_mask"].bool(), strict=True):
        ending = loaded.tokens(ids[real])[-len(loaded.facts.ending) :]
        assert ending == loaded.facts.ending


def test_queries_are_padded_on_the_familys_side(loaded: Loaded):
    batch = loaded.processor.process_queries(QUERIES)
    shorter = batch["attention_mask"][0].tolist()
    assert shorter == sorted(shorter, reverse=loaded.facts.pads == "right")
    assert 0 in shorter


def test_queries_have_finite_vectors(loaded: Loaded):
    assert loaded.embed(loaded.processor.process_queries(QUERIES)).isfinite().all()


def test_a_page_has_one_vector_for_each_cell_of_its_grid(loaded: Loaded, batch):
    counts = loaded.is_patch(batch).sum(dim=1).tolist()
    assert counts == [rows * cols + loaded.facts.extra for rows, cols in loaded.facts.grids]


def test_the_processors_image_mask_marks_the_patches(loaded: Loaded, batch):
    if loaded.family == "ColGemma3":
        assert not hasattr(loaded.processor, "get_image_mask")
    else:
        assert torch.equal(loaded.processor.get_image_mask(batch), loaded.is_patch(batch))


def _grid(loaded: Loaded, batch: Any, page: int) -> tuple[int, int]:
    """Rows and columns of vectors, from what the processor hands out with the page."""
    if "image_grid_thw" in batch:
        merge = loaded.processor.image_processor.merge_size
        _, high, wide = batch["image_grid_thw"][page].tolist()
        return high // merge, wide // merge
    if loaded.facts.extra:
        tiles = [token for token in loaded.tokens(batch["input_ids"][page]) if "_col_" in token]
        rows, columns = (int(number) for number in re.findall(r"\d+", tiles[-1]))
        assert len(tiles) == rows * columns
        return rows * TILE, columns * TILE
    side = math.isqrt(int(loaded.is_patch(batch)[page].sum()))
    return side, side


def test_the_grid_can_be_read_from_the_batch(loaded: Loaded, batch):
    assert [_grid(loaded, batch, page) for page in range(len(SIZES))] == loaded.facts.grids


def _patches_before_the_decoder(loaded: Loaded, page: Image.Image) -> torch.Tensor:
    batch = loaded.processor.process_images([page])
    seen: list[torch.Tensor] = []

    def keep(_: Any, args: tuple[torch.Tensor, ...], named: dict[str, torch.Tensor]) -> None:
        seen.append(args[0] if args else named["hidden_states"])

    first = loaded.model.get_submodule(loaded.facts.layers)[0]
    with first.register_forward_pre_hook(keep, with_kwargs=True):
        loaded.embed(batch)
    return seen[0][0][loaded.is_patch(batch)[0]]


def _place(loaded: Loaded, row: int, column: int, columns: int) -> int:
    if not loaded.facts.extra:
        return row * columns + column
    tile = row // TILE * (columns // TILE) + column // TILE
    return tile * TILE**2 + row % TILE * TILE + column % TILE


@pytest.mark.parametrize(("down", "across"), [(0.99, 0), (0.5, 0.75)])
def test_vectors_run_row_by_row_and_tile_by_tile(loaded: Loaded, pages, down, across):
    """The whole page, shrunk, comes after all tiles. A white cell changes its own vector most."""
    (rows, columns), slide = loaded.facts.grids[1], pages[1]
    row, column = int(down * rows), int(across * columns)
    left, top = column * slide.width // columns, row * slide.height // rows
    painted = slide.copy()
    painted.paste("white", (left, top, left + slide.width // columns, top + slide.height // rows))
    change = _patches_before_the_decoder(loaded, painted)
    change = (change - _patches_before_the_decoder(loaded, slide)).norm(dim=-1)
    assert change[: rows * columns].argmax() == _place(loaded, row, column, columns)


def _columns_and_rows(loaded: Loaded, width: int, height: int) -> tuple[int, int]:
    """Every family wants other arguments, and ColIdefics3 answers in tiles."""
    processor, vision = loaded.processor, loaded.model.config.vision_config
    asked: dict[str, Callable[[], tuple[int, int]]] = {
        "ColPali": lambda: processor.get_n_patches((width, height), vision.patch_size),
        "ColIdefics3": lambda: processor.get_n_patches((height, width), vision.image_size),
        "ColModernVBert": lambda: processor.get_n_patches((height, width)),
    }
    merge = getattr(vision, "spatial_merge_size", 1)
    ask = asked.get(loaded.family, lambda: processor.get_n_patches((width, height), merge))
    unit = TILE if loaded.family == "ColIdefics3" else 1
    columns, rows = ask()
    return columns * unit, rows * unit


def test_get_n_patches_answers_columns_first(loaded: Loaded):
    if loaded.family == "ColGemma3":
        with pytest.raises(TypeError, match="SizeDict"):
            _columns_and_rows(loaded, *SIZES[0])
        return
    for (width, height), (rows, columns) in zip(SIZES, loaded.facts.grids, strict=True):
        assert _columns_and_rows(loaded, width, height) == (columns, rows)


def test_the_prompt_of_a_page_can_be_replaced(loaded: Loaded, pages, batch):
    """On the instance alone. ColGemma3 keeps its prompt inside `process_images`."""
    if loaded.family == "ColGemma3":
        assert not hasattr(loaded.processor, "visual_prompt_prefix")
        return
    _, processor = tiny.load(loaded.family, loaded.folder)
    original = processor.visual_prompt_prefix
    processor.visual_prompt_prefix = original.replace("Describe the image.", "the total revenue")
    replaced = processor.process_images(pages[:1])["input_ids"][0]
    assert "total" in "".join(loaded.tokens(replaced))
    assert "total" not in "".join(loaded.tokens(batch["input_ids"][0]))
    assert type(processor).visual_prompt_prefix == original


def test_the_last_layer_with_full_attention(loaded: Loaded):
    layers = loaded.model.get_submodule(loaded.facts.layers)
    text = loaded.model.config.text_config
    kinds = getattr(text, "layer_types", None) or ["full_attention"] * len(layers)
    full = [index for index, kind in enumerate(kinds) if kind == "full_attention"]
    assert full[-1] == loaded.facts.full_attention
    linear = [index for index, layer in enumerate(layers) if hasattr(layer, "linear_attn")]
    assert linear == ([0, 1, 2] if loaded.family == "ColQwen3_5" else [])


def test_colpali_sees_a_query_both_ways_only_when_it_is_told_so(tmp_path: Path):
    """Without token types, a padded batch of queries is seen causally and a lone query is not."""
    tiny.build("ColPali", tmp_path)
    loaded = Loaded("ColPali", tmp_path, *tiny.load("ColPali", tmp_path))
    lone = loaded.processor.process_queries(QUERIES[:1])
    batch = loaded.processor.process_queries(QUERIES)
    alone, together = loaded.embed(lone)[0], loaded.embed(batch)[0]
    told = loaded.embed({**batch, "token_type_ids": torch.zeros_like(batch["input_ids"])})[0]
    assert (together[: len(alone)] - alone).abs().max() > 0.1
    torch.testing.assert_close(told[: len(alone)], alone)


def test_an_adapter_loads_over_its_base(loaded: Loaded, pages, batch, vectors, tmp_path):
    tiny.build_adapter(loaded.family, loaded.folder, tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= names
    assert not names & {"config.json", "model.safetensors"}
    settings = json.loads((tmp_path / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == str(loaded.folder)

    adapted = Loaded(loaded.family, tmp_path, *tiny.load(loaded.family, tmp_path))
    started_at_zero = [w for name, w in adapted.model.named_parameters() if "lora_B" in name]
    assert started_at_zero
    assert all(weight.any() for weight in started_at_zero)
    again = adapted.processor.process_images(pages)
    assert torch.equal(batch["input_ids"], again["input_ids"])
    assert (vectors - adapted.embed(again)).abs().max() > 0.1
