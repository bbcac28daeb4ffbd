"""Encoders: every family, from a checkpoint on disk through the real classes to vectors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import torch
from PIL import Image, ImageDraw

from docpruner import SPECIAL, reducer
from docpruner.encoders import load_encoder
from docpruner.encoders.registry import EncoderName
from docpruner.errors import EncoderError, ReductionError
from docpruner.types import Page

from . import tiny
from .jina import build_jina

# transformers itself, when it prepares a page for PaliGemma
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

EVERY = [*tiny.FAMILIES, "Jina"]
SIZES = [(425, 550), (640, 360), (300, 300), (200, 600)]
SIGNALS = ("global-token", "centrality")
QUERIES = ["What is the total revenue?", "Wie hoch?"]


def drawn(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)
    for i in range(14):
        x, y = i * 61 % width, i * 37 % height
        pen.rectangle([x, y, x + 45, y + 14], fill=(i * 18, 255 - i * 18, 90))
    return image


PAGES = [Page(f"file.pdf#{n}", lambda size=size: drawn(*size)) for n, size in enumerate(SIZES, 1)]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    for family in tiny.FAMILIES:
        tiny.build(family, folder / family)
    build_jina(folder / "Jina")
    return folder


@pytest.fixture(scope="module")
def encoders(checkpoints):
    """Each family's encoder, loaded once."""
    loaded = {}

    def get(family):
        if family not in loaded:
            folder = str(checkpoints / family)
            loaded[family] = load_encoder(folder, batch_size=4, trust_remote_code=True)
        return loaded[family]

    return get


@pytest.mark.parametrize("family", EVERY)
def test_a_page_has_a_vector_importance_and_place_for_every_token(encoders, family):
    encoder = encoders(family)
    pages = encoder.encode_pages(PAGES)
    assert [page.name for page in pages] == [page.name for page in PAGES]
    for page in pages:
        assert page.dim == encoder.dim
        assert np.linalg.norm(page.vectors, axis=1) == pytest.approx(1, abs=1e-4)
        assert page.importance.sum() == pytest.approx(1, abs=1e-4)  # a whole attention row
        assert set(page.cells[page.patches]) == set(range(page.grid[0] * page.grid[1]))
        specials = page.cells == SPECIAL
        assert 5 <= specials.sum() <= 75  # the prompt around the image
        assert not page.boxes[specials].any()
        assert np.array_equal(page.global_vector, page.vectors[-1])


@pytest.mark.parametrize("family", EVERY)
def test_grids_have_the_shape_of_the_page(encoders, family):
    tall, wide = encoders(family).encode_pages([PAGES[3], PAGES[1]])
    if family in ("ColPali", "ColGemma3"):  # which squeeze every page into a square
        assert tall.grid == wide.grid == (8, 8)
    else:
        assert tall.grid[0] > tall.grid[1]
        assert wide.grid[0] < wide.grid[1]


@pytest.mark.parametrize("family", EVERY)
def test_neither_pages_nor_queries_depend_on_their_batch(encoders, family):
    # Only rounding may differ. ColQwen3.5's linear attention carries it along the sequence in
    # float32: up to 1.2e-5 was seen, 1e-15 with all of it in float64. If padding were attended to,
    # its vectors would move by 0.3.
    rounding = 1e-4 if family == "ColQwen3_5" else 1e-5
    encoder = encoders(family)
    for together, page in zip(encoder.encode_pages(PAGES), PAGES, strict=True):
        (alone,) = encoder.encode_pages([page])
        assert together.vectors == pytest.approx(alone.vectors, abs=rounding)
        assert together.importance == pytest.approx(alone.importance, abs=rounding / 10)
        assert np.array_equal(together.cells, alone.cells)
    for together, text in zip(encoder.encode_queries(QUERIES), QUERIES, strict=True):
        (alone,) = encoder.encode_queries([text])
        assert together == pytest.approx(alone, abs=rounding)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_vectors_are_those_of_colpali_engine(encoders, checkpoints, family):
    model, processor = tiny.load(family, checkpoints / family)
    images = [page.render() for page in PAGES]
    with torch.no_grad():
        wanted = model(**processor.process_images(images))
    for page, row in zip(encoders(family).encode_pages(PAGES), wanted, strict=True):
        real = row[row.abs().sum(1) > 0].numpy()  # padding is zero
        assert page.vectors == pytest.approx(real, abs=1e-5)


@pytest.mark.parametrize("family", EVERY)
def test_every_vector_of_a_query_has_its_piece_of_text(encoders, family):
    encoder = encoders(family)
    words = encoder.query_words(QUERIES[0])
    (vectors,) = encoder.encode_queries(QUERIES[:1])
    assert len(words) == len(vectors)
    assert "revenue" in "".join(words)


@pytest.mark.parametrize("family", EVERY)
def test_a_larger_picture_than_it_asks_for_gives_no_more_patches(encoders, family):
    """ColIdefics3 and the other tilers enlarge small pages, so theirs never change at all."""
    encoder = encoders(family)
    side = int(encoder.pixels**0.5)
    asked, twice = encoder.encode_pages([drawn(side, side), drawn(2 * side, 2 * side)])
    assert len(asked.patches) == len(twice.patches)


@pytest.mark.parametrize("family", ["ColQwen2_5", "ColIdefics3", "ColPali"])
def test_painting_a_spot_moves_most_the_vector_whose_box_it_is(encoders, family):
    """Attention spreads it over the page, but nothing moves as much as the spot itself."""
    encoder = encoders(family)
    blank = Image.new("RGB", (420, 420), "white")
    spotted = blank.copy()
    spotted.paste((0, 0, 0), (300, 100, 335, 135))
    before, after = encoder.encode_pages([blank, spotted])
    moved = np.linalg.norm(after.vectors - before.vectors, axis=1)[before.patches]
    x0, y0, x1, y1 = before.boxes[before.patches][moved.argmax()]
    assert x0 * 420 < 335
    assert x1 * 420 > 300
    assert y0 * 420 < 135
    assert y1 * 420 > 100


@pytest.mark.parametrize("family", ["ColIdefics3", "ColModernVBert"])
def test_the_whole_page_view_of_tiles_covers_the_page_again(encoders, family):
    page = encoders(family).encode_pages([PAGES[0]])[0]
    small, whole = page.patches[:-9], page.patches[-9:]  # 3×3 vectors a tile, the last is all
    assert len(small) == page.grid[0] * page.grid[1]
    areas = np.prod(page.boxes[:, 2:] - page.boxes[:, :2], axis=1)
    assert areas[whole] == pytest.approx(1 / 9)
    assert areas[small].sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("family", EVERY)
def test_pages_can_be_reduced_and_searched(encoders, family):
    from docpruner.maxsim import maxsim

    encoder = encoders(family)
    reduce = reducer("docpruner:k=0+sem-cluster:factor=2")
    kept = [reduce(page).vectors for page in encoder.encode_pages(PAGES)]
    assert maxsim(encoder.encode_queries(QUERIES)[0], kept).shape == (len(PAGES),)


@pytest.mark.parametrize("family", [f for f in EVERY if f != "ColGemma3"])
def test_the_noise_filtering_prompt_is_in_the_name_and_changes_importance(checkpoints, family):
    name = f"{checkpoints / family}:prompt=noise-filtering"
    encoder = load_encoder(name, trust_remote_code=True)
    plain = load_encoder(str(checkpoints / family), trust_remote_code=True)
    assert encoder.name == name
    (page,), (default,) = encoder.encode_pages(PAGES[:1]), plain.encode_pages(PAGES[:1])
    assert page.prompt == "noise-filtering"
    assert len(page.vectors) > len(default.vectors)  # the longer prompt
    assert len(page.patches) == len(default.patches)
    median = np.median(page.importance[page.patches])
    kept = reducer(f"attention-threshold-nfp:threshold={median}")(page)
    assert kept.pruned == pytest.approx(0.5, abs=0.02)


def test_colgemma3_refuses_the_noise_filtering_prompt(checkpoints):
    with pytest.raises(EncoderError, match="writes its own page prompt"):
        load_encoder(str(checkpoints / "ColGemma3"), prompt="noise-filtering")


def test_centrality_is_another_importance_and_another_name(checkpoints, encoders):
    encoder = load_encoder(str(checkpoints / "ColQwen2_5"), importance="centrality")
    assert encoder.name.endswith(":importance=centrality")
    (central,) = encoder.encode_pages(PAGES[:1])
    (plain,) = encoders("ColQwen2_5").encode_pages(PAGES[:1])
    assert np.array_equal(central.vectors, plain.vectors)
    assert not np.allclose(central.importance, plain.importance)


@pytest.mark.parametrize("family", EVERY)
def test_both_signals_come_out_of_one_pass(checkpoints, encoders, family):
    def load(importance):
        name = str(checkpoints / family)
        return load_encoder(name, importance=importance, batch_size=4, trust_remote_code=True)

    plain, central = encoders(family).encode_pages(PAGES), load("centrality").encode_pages(PAGES)
    encoder = load("both")
    assert encoder.name.endswith(":importance=both")
    for both, token, centrality in zip(encoder.encode_pages(PAGES), plain, central, strict=True):
        assert np.array_equal(both.vectors, token.vectors)
        assert both.importance == pytest.approx(token.importance, abs=1e-6)
        assert both.centrality == pytest.approx(centrality.importance, abs=1e-6)
        by_token, by_centrality = (
            reducer(f"docpruner:k=0.5,signal={signal}")(both) for signal in SIGNALS
        )
        assert by_token.sources.tolist() == reducer("docpruner:k=0.5")(token).sources.tolist()
        expected = reducer("docpruner:k=0.5")(centrality).sources.tolist()
        assert by_centrality.sources.tolist() == expected
        assert token.centrality is None


def test_a_page_without_centrality_says_so(encoders):
    (page,) = encoders("ColQwen2_5").encode_pages(PAGES[:1])
    with pytest.raises(
        ReductionError, match=r"file\.pdf#1 has no centrality; encode it with importance=both"
    ):
        reducer("attention-ratio:ratio=0.9,signal=centrality")(page)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_adapters_load_as_published(checkpoints, tmp_path, family):
    tiny.build_adapter(family, checkpoints / family, tmp_path / "adapter")
    adapted = load_encoder(str(tmp_path / "adapter"))
    plain = load_encoder(str(checkpoints / family))
    (a,), (b,) = adapted.encode_pages(PAGES[:1]), plain.encode_pages(PAGES[:1])
    assert a.vectors.shape == b.vectors.shape
    assert not np.allclose(a.vectors, b.vectors, atol=1e-3)


IMAGES = {
    "grey": lambda image: image.convert("L"),
    "palette": lambda image: image.convert("P"),
    "one bit": lambda image: image.convert("1"),
    "alpha": lambda image: image.convert("RGBA"),
    "cmyk": lambda image: image.convert("CMYK"),
    "16 bits": lambda image: Image.fromarray(np.asarray(image.convert("L"), np.uint16) * 257),
    "far too large": lambda image: image.resize((4000, 3000)),
    "tiny": lambda image: image.resize((30, 20)),
}


@pytest.mark.parametrize("kind", IMAGES)
def test_every_kind_of_image_works(encoders, kind):
    (page,) = encoders("ColQwen2_5").encode_pages([IMAGES[kind](drawn(400, 300))])
    assert page.name == "image 0"
    assert np.isfinite(page.vectors).all()


def test_rotated_photographs_are_turned_upright(encoders, tmp_path):
    upright = drawn(400, 300)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned a quarter; the camera was held upright
    upright.rotate(90, expand=True).save(tmp_path / "photo.png", exif=exif)
    turned, plain = encoders("ColQwen2_5").encode_pages(
        [Image.open(tmp_path / "photo.png"), upright]
    )
    assert turned.grid == plain.grid
    assert turned.vectors == pytest.approx(plain.vectors, abs=1e-4)


def test_transparent_paper_is_white(encoders):
    clear = Image.new("RGBA", (300, 300), (0, 0, 0, 0))
    white = Image.new("RGB", (300, 300), "white")
    first, second = encoders("ColQwen2_5").encode_pages([clear, white])
    assert first.vectors == pytest.approx(second.vectors, abs=1e-5)


def test_a_page_that_cannot_be_prepared_is_named(encoders):
    strip = Page("strip.pdf#1", lambda: Image.new("RGB", (6000, 20)))
    with pytest.raises(EncoderError, match=r"strip\.pdf#1 can't be prepared: .*200"):
        encoders("ColQwen2_5").encode_pages([strip])


def test_bfloat16_runs_and_gives_float32_arrays(checkpoints):
    encoder = load_encoder(str(checkpoints / "ColQwen2_5"), dtype="bfloat16")
    (page,) = encoder.encode_pages(PAGES[:1])
    assert encoder.model.dtype == torch.bfloat16
    assert page.vectors.dtype == page.importance.dtype == np.float32


@pytest.mark.parametrize(
    "text",
    [
        "vidore/colqwen2.5-v0.2",
        "vidore/colqwen2.5-v0.2@abc123",
        "vidore/colqwen2.5-v0.2:prompt=noise-filtering",
        "a/b@c:prompt=noise-filtering,importance=centrality",
        "C:/models/colqwen",
    ],
)
def test_names_are_full_descriptions_and_round_trip(text):
    assert str(EncoderName.read(text)) == text


def test_wrong_names_are_clear_errors(tmp_path):
    with pytest.raises(
        EncoderError, match=r"'prompt=loud' in the encoder .* is none of: prompt=def"
    ):
        load_encoder("a/b:prompt=loud")
    with pytest.raises(EncoderError, match=r"has no config\.json here.*hf download"):
        load_encoder(str(tmp_path))


def test_a_missing_model_offline_says_what_to_run(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EncoderError, match=r"run: hf download vidore/colqwen2\.5-v0\.2"):
        load_encoder("vidore/colqwen2.5-v0.2")


def test_families_are_told_by_configuration_never_by_name(checkpoints, tmp_path):
    renamed = tmp_path / "colqwen2.5-finetuned"
    shutil.copytree(checkpoints / "ColPali", renamed)
    assert load_encoder(str(renamed)).family.model == "ColPali"


@pytest.mark.parametrize(
    ("model_type", "message"),
    [
        ("llama", r"model_type 'llama', which is none of: ColPali \(paligemma\)"),
        ("qwen2_5_omni_thinker", "can't be constructed"),
    ],
)
def test_other_models_are_refused_with_a_reason(tmp_path, model_type, message):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    with pytest.raises(EncoderError, match=message):
        load_encoder(str(tmp_path))


@pytest.mark.parametrize("family", ["ColQwen2_5", "ColIdefics3"])
def test_a_model_without_the_projection_is_not_a_retriever(checkpoints, tmp_path, family):
    """A plain vision-language model has the same configuration, and would get a random one."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(checkpoints / family, tmp_path / "plain")
    path = tmp_path / "plain" / "model.safetensors"
    projection = "linear." if family == "ColIdefics3" else "custom_text_proj"
    kept = {
        name: tensor
        for name, tensor in load_file(path).items()
        if not name.split("model.")[-1].startswith(projection)
    }
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(EncoderError, match="it is not a Col"):
        load_encoder(str(tmp_path / "plain"))


def test_missing_weights_are_an_error_not_random(checkpoints, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(checkpoints / "ColQwen2_5", tmp_path / "torn")
    path = tmp_path / "torn" / "model.safetensors"
    tensors = load_file(path)
    tensors.pop(next(name for name in tensors if "layers.1.self_attn.q_proj.weight" in name))
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(EncoderError, match="lacks 1 weights of ColQwen2_5, which would be random"):
        load_encoder(str(tmp_path / "torn"))


def _changed(path: Path, change) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def _without(*parts: str):
    def change(tensors):
        for part in parts:
            tensors.pop(next(name for name in tensors if part in name))

    return change


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("embed_tokens", "language_model.embed_tokens.weight"),
        ("layers.1.self_attn.q_proj.weight", "language_model.layers.1.self_attn.q_proj.weight"),
        ("visual.blocks.0.attn.qkv.weight", "visual.blocks.0.attn.qkv.weight"),
    ],
)
def test_a_weight_that_an_adapters_base_lacks_is_named(checkpoints, tmp_path, missing, named):
    base = tmp_path / "base"
    shutil.copytree(checkpoints / "ColQwen2_5", base)
    tiny.build_adapter("ColQwen2_5", base, tmp_path / "adapter")
    _changed(base / "model.safetensors", _without(missing))
    with pytest.raises(EncoderError, match=rf"base lacks 1 weights .* be random: {named}"):
        load_encoder(str(tmp_path / "adapter"))


@pytest.mark.parametrize("kind", ["whole", "base", "adapter"])
def test_a_weight_of_another_size_is_named(checkpoints, tmp_path, kind):
    base = tmp_path / "base"
    shutil.copytree(checkpoints / "ColQwen2_5", base)
    tiny.build_adapter("ColQwen2_5", base, tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_model.safetensors"

    def cut(tensors):
        where = "layers.1.self_attn.q_proj.lora_A" if kind == "adapter" else "1.self_attn.q_proj.w"
        name = next(name for name in tensors if where in name)
        tensors[name] = tensors[name][:-1].contiguous()

    _changed(file if kind == "adapter" else base / "model.safetensors", cut)
    with pytest.raises(EncoderError, match=r"the weight .*layers\.1\.self_attn\.q_proj.* × 64"):
        load_encoder(str(base if kind == "whole" else tmp_path / "adapter"))


def test_an_adapter_that_lacks_a_weight_or_has_one_too_many_is_refused(checkpoints, tmp_path):
    for name in ("lacking", "foreign"):
        tiny.build_adapter("ColQwen2_5", checkpoints / "ColQwen2_5", tmp_path / name)
    file = "adapter_model.safetensors"
    _changed(tmp_path / "lacking" / file, _without("layers.1.self_attn.q_proj.lora_B"))
    with pytest.raises(EncoderError, match=r"lacking lacks 1 weights of the adapter of ColQwen2_5"):
        load_encoder(str(tmp_path / "lacking"))

    def rename(tensors):
        name = next(name for name in tensors if "layers.1.self_attn.q_proj.lora_B" in name)
        tensors[name.replace("layers.1.", "layers.77.")] = tensors[name].clone()

    _changed(tmp_path / "foreign" / file, rename)
    with pytest.raises(EncoderError, match=r"has no place for, such as .*layers\.77\."):
        load_encoder(str(tmp_path / "foreign"))


def test_an_adapter_that_was_never_trained_is_refused(checkpoints, tmp_path):
    tiny.build_adapter("ColQwen2_5", checkpoints / "ColQwen2_5", tmp_path / "new")

    def clear(tensors):
        for name in tensors:
            if "lora_B" in name:
                tensors[name] = torch.zeros_like(tensors[name])

    _changed(tmp_path / "new" / "adapter_model.safetensors", clear)
    with pytest.raises(EncoderError, match="new changes nothing: its lora_B weights are all zero"):
        load_encoder(str(tmp_path / "new"))


def test_remote_code_runs_only_if_the_user_says_so(checkpoints):
    with pytest.raises(EncoderError, match="trust_remote_code=True"):
        load_encoder(str(checkpoints / "Jina"))


def test_a_configuration_that_is_not_json_is_named(tmp_path):
    Path(tmp_path / "config.json").write_text("{")
    with pytest.raises(EncoderError, match=r"config\.json is not JSON"):
        load_encoder(str(tmp_path))
