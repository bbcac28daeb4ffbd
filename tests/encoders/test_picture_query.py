"""A picture as the query, with a model that looks at pixels: in Python and on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytest.importorskip("colpali_engine", reason="needs the vlm extra: pip install 'docpruner[vlm]'")

from PIL import Image, ImageDraw

import docpruner
from cli_process import docpruner as run
from docpruner import Index

from . import tiny

HERE = Path(__file__).parent
SOURCE = Path(docpruner.__file__).parent.parent
FOLDERS = (SOURCE, HERE.parent, HERE / "torchvision_on_cpu")


def plan(colour: str, shape: str) -> Image.Image:
    image = Image.new("RGB", (224, 224), "white")
    getattr(ImageDraw.Draw(image), shape)((40, 40, 180, 180), fill=colour)
    return image


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """An index of three pictures, by a tiny model."""
    folder = tmp_path_factory.mktemp("plans")
    tiny.build("ColQwen2_5", folder / "model")
    for name, colour, shape in (
        ("red", "red", "rectangle"),
        ("blue", "blue", "ellipse"),
        ("black", "black", "rectangle"),
    ):
        plan(colour, shape).save(folder / f"{name}.png")
    with Index.create(folder / "plans.idx", encoder=str(folder / "model")) as index:
        index.add(sorted(folder.glob("*.png")))
    return folder


def test_a_picture_finds_the_page_that_looks_like_it(plans):
    with Index.open(plans / "plans.idx") as index:
        assert index.reads == "pixels"  # without loading it
        for name in ("red", "blue", "black"):
            with Image.open(plans / f"{name}.png") as picture:
                found = index.search(image=picture, k=3)
            assert len(found) == 3
            assert found[0].document == str(plans / f"{name}.png")
            assert found[0].query == ""
            best = found[0]
        tokens = index.encoder.encode_pages([plan("black", "rectangle")])[0].vectors
        assert len(best.matches) == len(tokens)
        assert best.score == pytest.approx(index.search(vectors=tokens, k=1)[0].score, rel=1e-3)


def test_the_command_finds_the_same(plans):
    done = run(
        "search",
        str(plans / "plans.idx"),
        "--image",
        str(plans / "blue.png"),
        "-k",
        "2",
        "--json",
        env={"PYTHONPATH": os.pathsep.join(map(str, FOLDERS))},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with Index.open(plans / "plans.idx") as index, Image.open(plans / "blue.png") as picture:
        hits = index.search(image=picture, k=2)
    assert [hit["document"] for hit in told["hits"]] == [hit.document for hit in hits]
    assert told["hits"][0]["score"] == pytest.approx(hits[0].score, rel=1e-3)
    assert (told["query"], told["image"]) == (None, str(plans / "blue.png"))
    assert told["hits"][0]["matched"] == []  # a picture has no words
