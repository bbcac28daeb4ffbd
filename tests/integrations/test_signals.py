"""Both signals of a vision-language model, from one encoding: in an index, in evaluate, in mteb."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("colpali_engine", reason="the tiny checkpoint needs the vlm extra")
pytest.importorskip("ir_measures", reason="needs the eval extra: pip install docpruner[eval]")
pytest.importorskip("datasets", reason="needs the eval extra: pip install docpruner[eval]")

from PIL import Image

from docpruner import Index, reducer
from docpruner.cli.evaluate import make_study
from docpruner.encoders import load_encoder
from docpruner.encoders.model_options import ModelOptions
from docpruner.errors import AddError, EncoderError, ReductionError, SpecError
from docpruner.evaluate.data.hub import load_benchmark
from docpruner.evaluate.report.written_files import write_all
from docpruner.explain.pruning_view import pruning_view
from docpruner.explain.what_if import Importances
from docpruner.stores.page_map import rounded
from encoders import tiny
from evaluate.copies import parts

CENTRAL = "docpruner:k=0.5,signal=centrality"
STRICTER = "docpruner:k=1,signal=centrality"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("checkpoint")
    tiny.build("ColQwen2_5", folder)
    return str(folder)


@pytest.fixture(scope="module")
def both(checkpoint: str) -> Any:
    return load_encoder(checkpoint, importance="both")


@pytest.fixture(scope="module")
def image() -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 255, (300, 420, 3), dtype=np.uint8)
    return Image.fromarray(noise)


@pytest.fixture(scope="module")
def page(both: Any, image: Image.Image) -> Any:
    (encoded,) = both.encode_pages([image])
    return rounded(encoded)


def made(location: Path, encoder: Any, spec: str, image: Image.Image) -> Index:
    index = Index.create(location, encoder=encoder, reduction=spec)
    index.add_images([image])
    return index


def stored(index: Index) -> Any:
    with index.reader() as reader:
        (name,) = reader.pages()
        return reader.page(*name)


def kept(index: Index) -> list[int]:
    return stored(index).provenance.sources.tolist()


def test_an_index_is_pruned_by_the_signal_its_spec_names(checkpoint, image, page, tmp_path):
    with made(tmp_path / "c.idx", checkpoint, CENTRAL, image) as index:
        assert index.settings.encoder == f"{checkpoint}:importance=both"
        expected, other = (reducer(spec)(page).sources for spec in (CENTRAL, "docpruner:k=0.5"))
        assert kept(index) == expected.tolist() != other.tolist()
    with Index.open_or_create(tmp_path / "c.idx", encoder=checkpoint, reduction=CENTRAL) as index:
        assert len(index) == 1  # the same names find it again


@pytest.mark.parametrize("spec", ["docpruner:k=0.5", CENTRAL, STRICTER])
def test_an_unpruned_index_can_be_pruned_by_either(both, image, page, tmp_path, spec):
    with made(tmp_path / "i.idx", both, "none", image) as index:
        index.prune(spec)
        assert kept(index) == reducer(spec)(page).sources.tolist()


def test_what_one_signal_pruned_goes_on_by_the_same_and_loses_nothing_unseen(
    both, image, page, tmp_path
):
    with made(tmp_path / "i.idx", both, CENTRAL, image) as index:
        with pytest.raises(SpecError, match=r"would keep \d+ patches of .* has dropped; index the"):
            index.prune("docpruner:k=0.5")
        index.prune(STRICTER)
        assert kept(index) == reducer(STRICTER)(page).sources.tolist()


def test_what_is_shown_is_weighed_by_the_signal_of_the_spec(both, image, page, tmp_path):
    with made(tmp_path / "i.idx", both, CENTRAL, image) as index:
        one = stored(index)
        seen = pruning_view(one, stored_with=CENTRAL)
        assert np.array_equal(seen.importance, page.centrality[page.patches])
        weakest = seen.importance[seen.kept].min()
        assert seen.tau < weakest
        assert (seen.importance[~seen.kept] <= seen.tau).all()
        other = pruning_view(one, "docpruner:k=0.5", stored_with=CENTRAL)
        assert np.array_equal(other.importance, page.importance[page.patches])
        with index.reader() as reader:
            found = Importances.load(reader).under(STRICTER)
        assert found.vectors == len(reducer(STRICTER)(page).vectors)


def test_pages_without_centrality_say_so(checkpoint, both, image, tmp_path):
    with made(tmp_path / "i.idx", checkpoint, "none", image) as index:
        with pytest.raises(ReductionError, match="has no centrality; encode it with importance="):
            index.prune(CENTRAL)
        assert index.settings.spec == "none"
    (page,) = both.encode_pages([image])
    with Index.create(tmp_path / "e.idx", encoder=both, reduction=CENTRAL) as index:
        index.add_embeddings([page])
        with pytest.raises(AddError, match=r"came without centrality; docpruner:k=0\.5,signal="):
            index.add_embeddings([replace(page, name="other", centrality=None)])


def test_encoders_without_centrality_are_refused_before_a_page_is_encoded(checkpoint, tmp_path):
    with pytest.raises(EncoderError, match="goes by centrality, which builtin-v2 does not give"):
        Index.create(tmp_path / "b.idx", encoder="builtin", reduction=CENTRAL)
    plain = load_encoder(checkpoint)
    with pytest.raises(EncoderError, match="does not give; load a vision-language model with imp"):
        Index.create(tmp_path / "b.idx", encoder=plain, reduction=CENTRAL)
    with pytest.raises(EncoderError, match="goes by centrality, which builtin-v2 does not give"):
        make_study("builtin", "signals", tmp_path / "cache", False, ModelOptions())


def test_evaluate_measures_both_from_one_encoding(checkpoint, tmp_path, monkeypatch):
    (data,) = load_benchmark(str(parts(tmp_path / "data")))
    options = ModelOptions(device="cpu")
    study = make_study(checkpoint, "signals", tmp_path / "cache", False, options)
    passes: list[int] = []
    encoder: Any = study.encoder
    run = encoder.model.forward

    def counted(*given: Any, **named: Any) -> Any:
        passes.append(len(named.get("image_grid_thw", ())))
        return run(*given, **named)

    monkeypatch.setattr(encoder.model, "forward", counted)
    encoded = study.encode(data)
    assert sum(passes) == len(encoded.pages) == 3  # each picture went through the model once
    first, *_ = encoded.embeddings(encoded.pages)
    (fresh,) = encoder.encode_pages([data.pages.picture(encoded.pages[0])])
    assert np.array_equal(first.centrality, rounded(fresh).centrality)
    assert np.array_equal(first.importance, rounded(fresh).importance)
    results = replace(study, workers=1).measure(encoded).results
    assert {setting.method for setting in results.settings} == {
        *("none", "random", "docpruner", "docpruner:signal=centrality"),
        *("attention-ratio", "attention-ratio:signal=centrality"),
    }
    report = write_all(encoded, results, tmp_path / "evaluation").read_text()
    assert report.count("<td>docpruner:signal=centrality</td>") == 6
    assert (tmp_path / "evaluation" / "figures" / "variants.svg").exists()


def test_mteb_scores_pages_by_the_signal_of_the_spec(checkpoint, both, image, page):
    mteb = pytest.importorskip("docpruner.integrations.mteb", reason="needs the mteb extra")
    model = mteb.PrunedModel(both, CENTRAL, codec="float32")
    (rows,) = model._stored_rows([image])
    assert len(rows) == len(reducer(CENTRAL)(page).vectors)
    with pytest.raises(SpecError, match=r'which .* does not give; load it with importance="both"'):
        mteb.PrunedModel(load_encoder(checkpoint), CENTRAL)
