"""What is written around a query: as each family was trained, or as one says, and in the name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import torch

from docpruner.encoders import load_encoder
from docpruner.encoders.registry import EncoderName
from docpruner.errors import EncoderError

from . import tiny
from .jina import build_jina

QUERY = "What is the total revenue?"
WITH_PREFIX = ["ColPali", "ColQwen2", "ColQwen2_5", "ColIdefics3"]
WITHOUT_PREFIX = ["ColQwen3", "ColQwen3_5", "ColModernVBert"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    for family in tiny.FAMILIES:
        tiny.build(family, folder / family)
    return folder


def colpali_engines_own(folder: Any, family: str, text: str) -> np.ndarray:
    """Vectors of a text, as colpali-engine's processor and model give them."""
    model, processor = tiny.load(family, folder)
    text += processor.query_augmentation_token * 10
    batch = processor.process_texts([text])
    if family == "ColPali":
        batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
    with torch.no_grad():
        return model(**batch)[0].numpy()


@pytest.mark.parametrize("family", WITH_PREFIX)
def test_families_trained_with_a_prefix_get_it(checkpoints, family):
    encoder = load_encoder(str(checkpoints / family))
    trained = colpali_engines_own(checkpoints / family, family, f"Query: {QUERY}")
    bare = colpali_engines_own(checkpoints / family, family, QUERY)
    (vectors,) = encoder.encode_queries([QUERY])
    assert vectors == pytest.approx(trained, abs=1e-6)
    assert len(vectors) > len(bare)
    words = "".join(encoder.query_words(QUERY)).removeprefix("<bos>")
    assert words.startswith("Query: What is")


@pytest.mark.parametrize("family", WITHOUT_PREFIX)
def test_families_trained_without_a_prefix_get_none(checkpoints, family):
    encoder = load_encoder(str(checkpoints / family))
    bare = colpali_engines_own(checkpoints / family, family, QUERY)
    assert encoder.encode_queries([QUERY])[0] == pytest.approx(bare, abs=1e-6)


def test_every_familys_form_is_named_here():
    assert {*WITH_PREFIX, *WITHOUT_PREFIX, "ColGemma3"} == set(tiny.FAMILIES)


def test_another_form_can_be_set_and_stands_in_the_name(checkpoints):
    folder = checkpoints / "ColQwen2_5"
    encoder = load_encoder(str(folder), query_prefix="", query_tokens=3)
    assert encoder.name == f"{folder}:query_prefix=,query_tokens=3"
    assert encoder.query_words("a") == ["a", *["<|endoftext|>"] * 3]
    again = load_encoder(encoder.name)
    assert again.name == encoder.name
    assert np.array_equal(again.encode_queries([QUERY])[0], encoder.encode_queries([QUERY])[0])


def test_the_familys_own_form_does_not_stand_in_the_name(checkpoints):
    folder = str(checkpoints / "ColQwen2_5")
    assert load_encoder(folder).name == folder
    assert load_encoder(folder, query_prefix="Query: ", query_tokens=10).name == folder
    assert load_encoder(f"{folder}:query_prefix=Query%3A%20").name == folder


@pytest.mark.parametrize("prefix", ["Query: ", "a,b=c:d@e/f", "Frage: größer", "100%", ""])
def test_any_prefix_can_be_written_in_a_name(prefix):
    name = EncoderName("vidore/colqwen2.5-v0.2", query_prefix=prefix)
    assert EncoderName.read(str(name)) == name


def test_a_processor_with_a_form_of_its_own_keeps_it(checkpoints, tmp_path):
    with pytest.raises(EncoderError, match="ColGemmaProcessor3 writes queries in a form of its o"):
        load_encoder(str(checkpoints / "ColGemma3"), query_prefix="")
    build_jina(tmp_path / "jina")
    with pytest.raises(EncoderError, match="by its own code; query_prefix and query_tokens can't"):
        load_encoder(str(tmp_path / "jina"), query_tokens=0, trust_remote_code=True)


def test_a_wrong_number_of_tokens_is_refused(checkpoints):
    with pytest.raises(EncoderError, match=r"'query_tokens=many' in the encoder .* is none of"):
        load_encoder(f"{checkpoints / 'ColQwen2_5'}:query_tokens=many")


@pytest.mark.parametrize("family", WITH_PREFIX)
def test_queries_are_those_of_mtebs_own_wrappers(checkpoints, family, monkeypatch):
    pytest.importorskip("mteb", reason="needs the mteb extra: pip install docpruner[mteb]")
    from mteb.models.model_implementations.colpali_models import ColPaliWrapper
    from mteb.models.model_implementations.colqwen_models import ColQwen2_5Wrapper, ColQwen2Wrapper
    from mteb.models.model_implementations.colsmol_models import ColSmolWrapper

    monkeypatch.setattr("transformers.utils.import_utils.is_flash_attn_2_available", lambda: False)
    wrapper = dict(
        zip(
            WITH_PREFIX,
            (ColPaliWrapper, ColQwen2Wrapper, ColQwen2_5Wrapper, ColSmolWrapper),
            strict=True,
        )
    )[family](str(checkpoints / family), device="cpu")
    theirs = wrapper.get_text_embeddings([{"text": [QUERY]}])[0].numpy()
    (ours,) = load_encoder(str(checkpoints / family)).encode_queries([QUERY])
    if family == "ColPali":  # a lone query is seen both ways with and without token types
        theirs = theirs[: len(ours)]
    assert ours == pytest.approx(theirs, abs=1e-6)
