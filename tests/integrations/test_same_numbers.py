"""mteb and `docpruner reproduce` on the same pages with the same encoder: the same numbers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mteb", reason="needs the mteb extra: pip install docpruner[mteb]")
pytest.importorskip("colpali_engine", reason="the tiny checkpoint needs the vlm extra")
pytest.importorskip("ir_measures", reason="needs the eval extra: pip install docpruner[eval]")

import datasets
import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from PIL import Image, ImageDraw

from docpruner.encoders import load_encoder
from docpruner.evaluate.data.hub import load_benchmark
from docpruner.evaluate.measuring.encoded import encode_data
from docpruner.evaluate.measuring.evaluation import evaluate
from docpruner.evaluate.measuring.methods import read_methods
from docpruner.integrations.mteb import PrunedModel
from docpruner.stores.page_map import rounded
from encoders import tiny
from evaluate.copies import saved

from .test_mteb import PicturesTask

SIZES = [(1700, 2200), (2400, 1350), (900, 1301), (1001, 700), (300, 400), (2550, 3300)]
KINDS = ["JPEG", "PNG", "palette", "grey", "alpha", "JPEG"]
ENGLISH = {"english": ["eng-Latn"]}
QUERIES = ["total revenue", "a small table", "Umsatz", "what?", "2021", "a b c"]


def drawn(size: tuple[int, int], seed: int) -> Image.Image:
    image = Image.new("RGB", size, "white")
    pen, random = ImageDraw.Draw(image), np.random.default_rng(seed)
    for _ in range(60):
        x, y = random.integers(0, size[0]), random.integers(0, size[1])
        pen.rectangle([x, y, x + 90, y + 30], fill=tuple(random.integers(0, 255, 3).tolist()))
    return image


def picture(kind: str, image: Image.Image) -> Image.Image:
    """As a file of this kind, read back."""
    modes = {"palette": "P", "grey": "L", "alpha": "RGBA"}
    file = io.BytesIO()
    image.convert(modes.get(kind, "RGB")).save(file, "JPEG" if kind == "JPEG" else "PNG")
    return Image.open(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set in the layout of ViDoRe V2."""
    folder = tmp_path_factory.mktemp("data") / "pages"
    images = [
        picture(kind, drawn(size, seed))
        for seed, (kind, size) in enumerate(zip(KINDS, SIZES, strict=True))
    ]
    ids = list(range(len(images)))
    saved(folder / "corpus", {"corpus-id": ids, "image": images})
    saved(folder / "queries", {"query-id": ids, "query": QUERIES})
    saved(folder / "qrels", {"query-id": ids, "corpus-id": ids, "score": [1] * len(ids)})
    return folder


class FolderTask(PicturesTask):
    """The same tables, loaded by `datasets` as mteb does."""

    folder: Path

    def load_data(self, **_: Any) -> None:
        def table(name: str) -> Any:
            file = str(next((self.folder / name).glob("*.parquet")))
            return datasets.Dataset.from_parquet(file)

        corpus, queries = table("corpus"), table("queries")
        corpus = corpus.rename_column("corpus-id", "id").cast_column("id", datasets.Value("string"))
        queries = queries.rename_columns({"query-id": "id", "query": "text"})
        queries = queries.cast_column("id", datasets.Value("string"))
        answers = {str(row["query-id"]): {str(row["corpus-id"]): 1} for row in table("qrels")}
        self.corpus = {"english": {"test": corpus}}
        self.queries = {"english": {"test": queries}}
        self.relevant_docs = {"english": {"test": answers}}
        self.data_loaded = True


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    tiny.build("ColQwen2_5", checkpoint)
    return load_encoder(str(checkpoint))


@pytest.mark.parametrize(
    ("spec", "codec"), [("none", "float16"), ("docpruner:k=-0.25", "int8"), ("none", "float32")]
)
def test_mteb_and_reproduce_agree_to_the_last_digit(folder, encoder, tmp_path, spec, codec):
    (data,) = load_benchmark(str(folder))
    encoded = encode_data(data, encoder, cache=tmp_path / "cache")
    settings = read_methods(f"{spec}@{codec}", (), prompts=False)
    results = evaluate(encoded, settings, workers=1).results
    (ours,) = [each for each in results.settings if (each.spec, each.codec) == (spec, codec)]

    class Task(FolderTask):
        metadata = PicturesTask.metadata.model_copy(
            update={"eval_langs": {"english": ["eng-Latn"]}}
        )

    Task.folder = folder
    assert issubclass(Task, AbsTaskRetrieval)
    model = PrunedModel(encoder, spec, codec=codec)
    result = mteb.evaluate(model, Task(), cache=None, show_progress_bar=False)
    (theirs,) = result[0].scores["test"]
    assert 0 < theirs["ndcg_at_5"] < 1  # by chance, so that a difference would show
    assert round(ours.measures["ndcg@5"], 5) == theirs["ndcg_at_5"]


def test_pictures_reach_the_encoder_as_they_are(folder, encoder, tmp_path):
    """Vectors, bit for bit, of the pictures that `datasets` decodes."""
    (data,) = load_benchmark(str(folder))
    encoded = encode_data(data, encoder, cache=tmp_path / "cache")
    pages = encoder.encode_pages(
        [
            row["image"]
            for row in datasets.Dataset.from_parquet(
                str(next((folder / "corpus").glob("*.parquet")))
            )
        ]
    )
    for stored, page in zip(encoded.embeddings(encoded.pages), pages, strict=True):
        assert stored.grid == page.grid
        assert np.array_equal(stored.vectors, page.vectors)
        assert np.array_equal(stored.importance, rounded(page).importance)
