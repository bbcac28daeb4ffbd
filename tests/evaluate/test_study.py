"""From a name to a report, with an encoder that sees pictures and takes a prompt."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import encoders.conftest  # noqa: F401  # makes torchvision importable beside a CPU torch

pytest.importorskip("colpali_engine", reason="the tiny checkpoint needs the vlm extra")

from docpruner.encoders import load_encoder
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.evaluate.measuring.study import Study
from docpruner.evaluate.report.paper_figures import averages
from docpruner.evaluate.report.written_files import write_all
from encoders import tiny
from evaluate.made_data import SAMPLES

METHODS = "docpruner:k=-0.25,attention-threshold:threshold=0.001"
FILTERED = "attention-threshold-nfp:threshold=0.001"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The slides, which are nine pages, and the questions about them."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "pdfs").mkdir()
    name = "product-launch-slides.pdf"
    (folder / "pdfs" / name).write_bytes((SAMPLES / name).read_bytes())
    qrels = [line for line in (SAMPLES / "qrels.jsonl").read_text().splitlines() if name in line]
    asked = {json.loads(line)["query_id"] for line in qrels}
    queries = (SAMPLES / "queries.jsonl").read_text().splitlines()
    (folder / "qrels.jsonl").write_text("\n".join(qrels))
    (folder / "queries.jsonl").write_text(
        "\n".join(line for line in queries if json.loads(line)["query_id"] in asked)
    )
    return folder


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    tiny.build("ColQwen2_5", checkpoint)
    return partial(load_encoder, str(checkpoint), device="cpu")


def test_the_noise_filtering_prompt_has_pages_of_its_own(data, load, tmp_path):
    study = Study(
        load(),
        f"{METHODS},{FILTERED}",
        cache=tmp_path / "cache",
        workers=1,
        filtering=partial(load, prompt="noise-filtering"),
    )
    encoded = study.encode(load_folder(data))
    results = study.measure(encoded).results
    assert [setting.name for setting in results.settings] == ["none", *METHODS.split(","), FILTERED]
    assert results.notes == []
    assert results.pages == 9
    folders = [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    assert len(folders) == 2  # one for each prompt
    plain, filtered = results.settings[2], results.settings[3]
    assert filtered.vectors_per_page > plain.vectors_per_page  # of a longer prompt
    report = write_all(encoded, results, tmp_path / "out")
    assert report.stat().st_size > 100_000
    assert averages([results, results])["none"] == (results.base.score, 0.0)


def test_without_the_prompt_the_strategy_is_left_out_and_noted(data, load, tmp_path):
    study = Study(load(), "paper", cache=tmp_path / "cache", workers=1)
    results = study.measure(study.encode(load_folder(data))).results
    assert not any("nfp" in setting.name for setting in results.settings)
    assert "attention-threshold-nfp was left out" in results.notes[0]
