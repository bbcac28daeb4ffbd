"""The code shown to people with models of their own, run on tiny ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

import numpy as np
import torch
from fpdf import FPDF
from PIL import Image

from . import tiny
from .jina import build_jina

ROOT = Path(__file__).parents[2]
IMAGES = [Image.effect_noise((425, 550), 80), Image.effect_noise((640, 360), 80)]


def write_report(path: Path) -> None:
    document = FPDF()
    document.set_font("helvetica", size=12)
    for text in (
        "Our offices in the north were repainted, and the lifts were repaired.",
        "In 2021 the revenue of the group was twelve million, up from nine million in 2020.",
    ):
        document.add_page()
        document.write(text=text)
    document.output(str(path))


def snippets(page: str) -> list[str]:
    return re.findall(r"^```py\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny.build("ColQwen2_5", folder / "colqwen")
    build_jina(folder / "jina")
    return {
        "vidore/colqwen2.5-v0.2": str(folder / "colqwen"),
        "jinaai/jina-embeddings-v4": str(folder / "jina"),
    }


@pytest.mark.parametrize("page", ["README.md", "docs/encoders.md"])
def test_snippets_run_on_tiny_checkpoints(page, checkpoints, tmp_path, monkeypatch, capsys):
    write_report(tmp_path / "report.pdf")
    monkeypatch.chdir(tmp_path)
    model, processor = tiny.load("ColQwen2_5", Path(checkpoints["vidore/colqwen2.5-v0.2"]))
    names = {
        "images": IMAGES,
        "torch": torch,
        "model": model,
        "processor": processor,
        "batch": processor.process_images(IMAGES),
    }
    for snippet in snippets(page):
        for published, folder in checkpoints.items():
            snippet = snippet.replace(published, folder)
        with torch.no_grad():
            exec(compile(snippet, page, "exec"), names)
    assert ("report.pdf#2" in capsys.readouterr().out) == (page == "README.md")
    assert [len(page.patches) > 0 for page in names["pages"]] == [True, True]
    assert all(
        len(left) < len(page.vectors)
        for left, page in zip(names["pruned"], names["pages"], strict=True)
    )


def test_pruned_pages_score_in_colpali_engine_as_here(checkpoints):
    from docpruner.encoders import load_encoder
    from docpruner.maxsim import maxsim

    encoder = load_encoder(checkpoints["vidore/colqwen2.5-v0.2"])
    pages = [page.vectors for page in encoder.encode_pages(IMAGES[:1])]
    (query,) = encoder.encode_queries(["one page, so nothing is padded"])
    theirs = encoder.processor.score_multi_vector(
        [torch.tensor(query)], [torch.tensor(page) for page in pages], device="cpu"
    )
    assert maxsim(query, pages) == pytest.approx(np.asarray(theirs)[0], abs=1e-4)
