"""Small copies of data sets, in the layouts that the Hub has them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, Features, Image
from PIL import Image as Pictures
from PIL import ImageDraw, ImageFont

from docpruner.types import Page, PageEmbedding

RED, GREEN, BLUE, GREY = (220, 10, 10), (10, 220, 10), (10, 10, 220), (90, 90, 90)
AXES = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
FILE = "test-00000-of-00001.parquet"


class ColourEncoder:
    """Sees the mean colour of each quarter of a page; understands the names of three colours."""

    name, dim, prompt, reads, pixels = "colours", 3, "default", "pixels", 10_000

    def __init__(self) -> None:
        self.encoded: list[str] = []  # names of pages, in their order
        self.patience = 10**6  # pages until it is stopped

    def query_words(self, text: str) -> list[str]:
        return text.split()

    def encode_queries(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array([AXES[word] for word in text.split()], np.float32) for text in texts]

    def encode_plain(self, pages: Sequence[Page | Pictures.Image]) -> list[np.ndarray]:
        return [page.vectors for page in self.encode_pages(pages)]

    def encode_pages(self, pages: Sequence[Page | Pictures.Image]) -> list[PageEmbedding]:
        embeddings = []
        for page in pages:
            self.patience -= 1
            if self.patience < 0:
                raise KeyboardInterrupt
            named = isinstance(page, Page)
            name = page.name if named else "image"
            small = (page.render() if named else page).convert("RGB").resize((2, 2))
            colours = np.asarray(small, np.float32).reshape(4, 3) + 1
            vectors = colours / np.linalg.norm(colours, axis=1, keepdims=True)
            embeddings.append(PageEmbedding(name, vectors, [4, 3, 2, 1], (2, 2)))
            self.encoded.append(name)
        return embeddings


def page(colour: tuple[int, int, int], width: int = 40) -> Pictures.Image:
    return Pictures.new("RGB", (width, 50), colour)


def written(text: str) -> Pictures.Image:
    picture = Pictures.new("RGB", (400, 160), "white")
    ImageDraw.Draw(picture).text((40, 50), text, "black", ImageFont.load_default(40))
    return picture


def saved(folder: Path, values: dict[str, list[Any]]) -> None:
    """A table as parquet, as `push_to_hub` writes it: pictures as bytes, marked as such."""
    folder.mkdir(parents=True, exist_ok=True)
    features = None
    if "image" in values:
        inferred = Dataset.from_dict({k: v for k, v in values.items() if k != "image"}).features
        features = Features({k: Image() if k == "image" else inferred[k] for k in values})
    Dataset.from_dict(values, features=features).to_parquet(str(folder / FILE))


def parts(
    folder: Path,
    *,
    ids: Sequence[Any] = (0, 1, 2),
    query_ids: Sequence[Any] = (0, 1, 2),
    queries: Sequence[str | None] = ("red", "green", "blue"),
    languages: Sequence[str] | None = None,
    third: bool = False,
) -> Path:
    """Three pages, red, green and blue, and a query for each: ViDoRe V2, or the third version."""
    query_id, corpus_id = ("query_id", "corpus_id") if third else ("query-id", "corpus-id")
    pages = [page(colour) for colour in (RED, GREEN, BLUE)]
    saved(folder / "corpus", {corpus_id: list(ids), "image": pages})
    asked: dict[str, list[Any]] = {query_id: list(query_ids), "query": list(queries)}
    saved(folder / "queries", asked | ({"language": list(languages)} if languages else {}))
    answers = {query_id: list(query_ids), corpus_id: list(ids), "score": [1, 2, 1]}
    saved(folder / "qrels", answers)
    return folder


def flat(folder: Path) -> Path:
    """ViDoRe V1: the red page twice, with two queries; the blue one has none."""
    saved(
        folder,
        {
            "query": ["red", "green", "red red", None],
            "image": [page(RED), page(GREEN), page(RED), page(BLUE)],
            "image_filename": ["a.png", "b.png", "a.png", "c.png"],
            "answer": ["yes", "no", "yes", None],
        },
    )
    return folder


def readme(folder: Path, configs: dict[str, str]) -> None:
    """As the Hub has it: which files each config has."""
    lines = [
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {path}/test-*\n"
        for name, path in configs.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(f"---\nconfigs:\n{''.join(lines)}---\n")
