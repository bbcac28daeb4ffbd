"""How a model is run: precision by device, batches that fit into memory, and work in two steps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import torch
from PIL import Image

from docpruner.encoders import load_encoder
from docpruner.encoders.runtime import BatchSize, best_attention, best_dtype, copy_back, in_batches
from docpruner.encoders.steps import EncodesInSteps
from docpruner.errors import EncoderError

from . import tiny

COLOURS = ["white", "navy", "teal", "olive", "maroon", "gold"]
PAGES = [Image.new("RGB", (300, 400), colour) for colour in COLOURS]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    tiny.build("ColQwen2_5", folder)
    return str(folder)


def small_memory(encoder, most: int) -> list[int]:
    """Lets the model fail, as a GPU would, on more than `most` pages; returns the sizes it saw."""
    sizes = []

    def check(_module, _arguments, named):
        sizes.append(len(named["input_ids"]))
        if sizes[-1] > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    encoder.model.register_forward_pre_hook(check, with_kwargs=True)
    return sizes


def same(first, second) -> bool:
    return len(first) == len(second) and all(
        a.name == b.name
        and np.allclose(a.vectors, b.vectors, atol=1e-5)
        and np.allclose(a.importance, b.importance, atol=1e-6)
        for a, b in zip(first, second, strict=True)
    )


# ---------------------------------------------------------------------- precision


def test_precision_follows_the_device():
    assert best_dtype("cpu") == torch.float32
    assert best_dtype("mps") == torch.bfloat16
    assert best_dtype("cpu", "bfloat16") == torch.bfloat16
    with pytest.raises(EncoderError, match="no dtype 'float17'"):
        best_dtype("cpu", "float17")


@pytest.mark.parametrize(("real", "chosen"), [(True, torch.bfloat16), (False, torch.float16)])
def test_a_gpu_that_only_emulates_bfloat16_gets_float16(monkeypatch, real, chosen):
    def supported(including_emulation: bool = True) -> bool:
        return including_emulation or real

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    assert best_dtype("cuda:0") == chosen


# ---------------------------------------------------------------------- memory


def test_out_of_memory_halves_the_batch_says_so_once_and_remembers():
    sizes = []

    def run(batch):
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        sizes.append(len(batch))
        return [item * 10 for item in batch]

    size = BatchSize("cpu", 8)
    with pytest.warns(
        RuntimeWarning, match="out of memory at a batch of 8; going on with 4"
    ) as said:
        assert in_batches(list(range(9)), size, run) == [n * 10 for n in range(9)]
    assert len(said) == 1
    assert sizes == [2, 2, 2, 2, 1]
    assert size.now == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_batches([1, 2, 3], size, run) == [10, 20, 30]


def test_one_page_that_does_not_fit_and_other_errors_are_raised():
    with pytest.raises(torch.OutOfMemoryError, match="no"):
        in_batches(
            [1], BatchSize("cpu"), lambda _: (_ for _ in ()).throw(torch.OutOfMemoryError("no"))
        )
    with pytest.raises(RuntimeError, match="something else"):
        in_batches(
            [1, 2],
            BatchSize("cpu", 2),
            lambda _: (_ for _ in ()).throw(RuntimeError("something else")),
        )


def test_a_batch_grows_while_twice_as_much_would_fit():
    """16 GB: 6 for the weights, and 1 for every 4 pages."""
    gigabyte = 1 << 30
    size = BatchSize("cuda")
    sizes = [size.now]
    for _ in range(5):
        size.grow(size.now, 6 * gigabyte, (6 + size.now // 4) * gigabyte, 16 * gigabyte)
        sizes.append(size.now)
    assert sizes == [4, 8, 16, 16, 16, 16]  # 32 pages would take 14 of 13.6 GB


def test_a_size_that_was_given_stays_and_a_cpu_takes_one_page_at_a_time():
    assert BatchSize("cpu").now == 1
    assert BatchSize("cuda").now == 4
    assert BatchSize("cuda", 12).now == 12


def test_an_encoder_out_of_memory_goes_on_with_half_and_remembers(checkpoint):
    encoder = load_encoder(checkpoint, batch_size=4)
    expected = load_encoder(checkpoint).encode_pages(PAGES)
    sizes = small_memory(encoder, 2)
    with pytest.warns(RuntimeWarning, match="out of memory at a batch of 4; going on with 2"):
        assert same(encoder.encode_pages(PAGES), expected)
    assert sizes == [4, 2, 2, 2]
    assert encoder.batch_size == 2
    encoder.encode_pages(PAGES)
    assert sizes[4:] == [2, 2, 2]


# ---------------------------------------------------------------------- two steps


def test_two_steps_give_what_one_gives(checkpoint):
    encoder = load_encoder(checkpoint, batch_size=6)
    assert isinstance(encoder, EncodesInSteps)
    assert same(encoder.run(encoder.prepare(PAGES))(), encoder.encode_pages(PAGES))


def test_a_prepared_batch_that_is_too_large_is_done_in_halves(checkpoint):
    encoder = load_encoder(checkpoint, batch_size=6)
    expected = load_encoder(checkpoint).encode_pages(PAGES)
    first, second = encoder.prepare(PAGES), encoder.prepare(PAGES)
    sizes = small_memory(encoder, 3)
    with pytest.warns(RuntimeWarning, match="out of memory at a batch of 6; going on with 3"):
        assert same(encoder.run(first)(), expected)
    assert same(encoder.run(second)(), expected)  # prepared before that was known
    assert sizes == [6, 3, 3, 3, 3]


def test_a_copy_back_is_the_same_numbers():
    made = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(copy_back(made)(), made)


def test_the_model_is_called_once_for_a_batch_and_inputs_stay_where_they_are(checkpoint):
    encoder = load_encoder(checkpoint, batch_size=6)
    sizes = small_memory(encoder, 6)
    prepared = encoder.prepare(PAGES)
    kept = {key: value.clone() for key, value in prepared.inputs.items()}
    encoder.run(prepared)()
    assert sizes == [6]
    assert all(torch.equal(prepared.inputs[key], value) for key, value in kept.items())


# ---------------------------------------------------------------------- kernels and sizes


def test_attention_is_what_was_asked_for(checkpoint):
    encoder = load_encoder(checkpoint, attention="eager")
    assert encoder.model.config._attn_implementation == "eager"
    assert encoder.name == load_encoder(checkpoint, attention="sdpa").name
    assert same(encoder.encode_pages(PAGES[:2]), load_encoder(checkpoint).encode_pages(PAGES[:2]))


def test_flash_attention_is_the_default_where_it_can_run(monkeypatch):
    assert best_attention("cuda:1", torch.bfloat16) == {}
    monkeypatch.setattr("docpruner.encoders.runtime.find_spec", lambda name: name == "flash_attn")
    assert best_attention("cuda:1", torch.bfloat16) == {"attn_implementation": "flash_attention_2"}
    assert best_attention("cuda", torch.float32) == {}
    assert best_attention("cpu", torch.bfloat16) == {}
    assert best_attention("cuda", torch.float16, "sdpa") == {"attn_implementation": "sdpa"}


def test_flash_attention_elsewhere_is_an_error_that_says_what_it_needs(checkpoint):
    with pytest.raises(EncoderError, match=r"needs a CUDA device.*here: cpu, float32.*flash-attn"):
        load_encoder(checkpoint, attention="flash")
    with pytest.raises(EncoderError, match="no attention 'slow'"):
        load_encoder(checkpoint, attention="slow")


def test_a_cap_on_visual_tokens_holds_and_is_in_the_name(checkpoint):
    encoder = load_encoder(checkpoint, max_visual_tokens=40)
    assert encoder.name == f"{checkpoint}:max_visual_tokens=40"
    capped, free = encoder.encode_pages(PAGES[:1]), load_encoder(checkpoint).encode_pages(PAGES[:1])
    assert 30 <= len(capped[0].patches) <= 40
    assert len(free[0].patches) > 80
    assert len(load_encoder(encoder.name).encode_pages(PAGES[:1])[0].patches) <= 40
    with pytest.raises(EncoderError, match="max_visual_tokens 3: this processor makes at least 4"):
        load_encoder(checkpoint, max_visual_tokens=3)


def test_a_cap_on_tiles(tmp_path):
    """9 vectors a tile: 45 are 2 × 2 tiles and the whole page."""
    tiny.build("ColIdefics3", tmp_path)
    (page,) = load_encoder(str(tmp_path), max_visual_tokens=50).encode_pages(PAGES[:1])
    assert len(page.patches) == 45
    with pytest.raises(EncoderError, match="at least 18, 9 for a tile"):
        load_encoder(str(tmp_path), max_visual_tokens=17)


def test_a_model_with_pages_of_one_size_takes_no_cap(tmp_path):
    tiny.build("ColPali", tmp_path)
    with pytest.raises(EncoderError, match="ColPali makes the same number of vectors"):
        load_encoder(str(tmp_path), max_visual_tokens=17)
