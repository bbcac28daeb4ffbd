"""One index for each data set and encoder, which follows the pages and queries as they change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("datasets", reason="the extra eval is not installed")

from docpruner.errors import DataError, SpecError
from docpruner.evaluate.data.hub import load_benchmark
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.evaluate.measuring.encoded import encode_data
from docpruner.evaluate.measuring.evaluation import evaluate
from docpruner.evaluate.measuring.methods import BASE
from docpruner.evaluate.measuring.query_cache import encoded_queries
from docpruner.evaluate.measuring.study import Study
from docpruner.stores.locations import open_store
from evaluate.copies import BLUE, GREEN, GREY, RED, ColourEncoder, page, parts, saved

COLOURS = {"red": RED, "green": GREEN, "blue": BLUE}


class FilteringEncoder(ColourEncoder):
    name, prompt = "colours:prompt=noise-filtering", "noise-filtering"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A picture of each colour, and queries for the first two."""
    (tmp_path / "data" / "images").mkdir(parents=True)
    for name, colour in COLOURS.items():
        page(colour).save(tmp_path / "data" / "images" / f"{name}.png")
    ask(tmp_path / "data", "red", "green")
    return tmp_path / "data"


def ask(folder: Path, *colours: str) -> None:
    queries = [{"query_id": colour, "text": colour} for colour in colours]
    qrels = [{"query_id": colour, "doc": f"{colour}.png", "page": 1} for colour in colours]
    for name, lines in (("queries", queries), ("qrels", qrels)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))


def encoded(folder: Path, encoder: ColourEncoder | None = None):
    cache = folder.parent / "cache"
    return encode_data(load_folder(folder), encoder or ColourEncoder(), cache=cache)


def indexes(folder: Path) -> list[str]:
    return [path.name for path in (folder.parent / "cache").iterdir() if path.is_dir()]


def test_a_file_is_hashed_once_in_a_study(folder, monkeypatch):
    """Also where pages are encoded a second time, under the other prompt."""
    digest, hashed = hashlib.file_digest, Counter()

    def counted(file, *arguments):
        hashed[Path(file.name).name] += 1
        return digest(file, *arguments)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    study = Study(
        ColourEncoder(),
        "docpruner:k=0,attention-threshold-nfp:threshold=0.1",
        cache=folder.parent / "cache",
        workers=1,
        filtering=FilteringEncoder,
    )
    data = study.encode(load_folder(folder))
    results = study.measure(data).results
    assert len(results.settings) == 3
    assert len(indexes(folder)) == 2
    assert hashed == {"red.png": 1, "green.png": 1, "blue.png": 1}


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ("docpruner:k=0,dokpruner", "dokpruner"),
        ("attention-threshold-nfp:threshold=0.1", "noise-filtering prompt, which colours does not"),
    ],
)
def test_settings_that_can_not_be_measured_fail_before_encoding(folder, methods, message):
    study = Study(ColourEncoder(), methods, cache=folder.parent / "cache")
    with pytest.raises(SpecError, match=message):
        study.encode(load_folder(folder))
    assert not (folder.parent / "cache").exists()


def test_a_page_that_another_run_has_removed_meanwhile_is_named(folder):
    data = encoded(folder)
    (folder / "images" / "blue.png").unlink()
    encoded(folder)
    with pytest.raises(DataError, match=r"blue\.png#1 is no longer in .*: another evaluation"):
        evaluate(data, [BASE], workers=1)


def test_a_file_that_changes_is_hashed_again(folder):
    pages = load_folder(folder).pages
    file = folder / "images" / "red.png"
    before = pages.hash_of(file)
    page(GREY).save(file)
    assert pages.hash_of(file) == hashlib.sha256(file.read_bytes()).digest() != before


def test_only_what_has_changed_is_encoded_again(folder):
    first = encoded(folder)
    page(GREY).save(folder / "images" / "blue.png")
    (folder / "images" / "green.png").unlink()
    page(BLUE, 80).save(folder / "images" / "wide.png")
    ask(folder, "red")
    encoder = ColourEncoder()
    second = encoded(folder, encoder)
    assert encoder.encoded == ["blue.png#1", "wide.png#1"]
    assert second.location == first.location
    assert len(indexes(folder)) == 1
    assert second.page_ids == ["blue.png#1", "red.png#1", "wide.png#1"]
    assert evaluate(second, [BASE], workers=1).results.pages == 3


def test_what_was_replaced_leaves_nothing_behind(folder):
    encoded(folder)
    page(GREY).save(folder / "images" / "blue.png")
    with open_store(encoded(folder).location) as store, store.reader() as reader:
        stats = reader.stats()
    assert (stats.documents, stats.bytes_reclaimable) == (3, 0)


def test_a_page_that_can_no_longer_be_read_is_not_measured_as_it_was(folder):
    assert len(encoded(folder).pages) == 3
    (folder / "images" / "red.png").write_bytes(b"no picture any more")
    data = encoded(folder)
    assert data.page_ids == ["blue.png#1", "green.png#1"]
    results = evaluate(data, [BASE], workers=1).results
    assert results.per_query["none"] == {"red": 0, "green": 1}
    assert "not among the pages read: red.png#1" in results.notes[0]


def test_if_no_page_can_be_read_any_more_that_is_an_error(folder):
    encoded(folder)
    for file in (folder / "images").iterdir():
        file.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"data: no page can be read; .*blue\.png: is not an image"):
        encoded(folder)


def test_two_folders_of_one_name_have_an_index_each(folder, tmp_path):
    (tmp_path / "other").mkdir()
    folder.rename(tmp_path / "other" / "data")
    other = encode_data(load_folder(tmp_path / "other" / "data"), ColourEncoder(), cache=tmp_path)
    (folder / "images").mkdir(parents=True)
    page(GREY).save(folder / "images" / "red.png")
    ask(folder, "red")
    own = encode_data(load_folder(folder), ColourEncoder(), cache=tmp_path)
    assert own.location != other.location
    assert (len(own.pages), len(other.pages)) == (1, 3)


def test_rows_of_the_hub_are_followed_too(tmp_path):
    folder = parts(tmp_path / "esg")
    (data,) = load_benchmark(str(folder))
    first = encode_data(data, ColourEncoder(), cache=tmp_path / "cache")
    pictures = [page(RED), page(GREY)]
    saved(folder / "corpus", {"corpus-id": [0, 1], "image": pictures})
    (data,) = load_benchmark(str(folder))
    encoder = ColourEncoder()
    second = encode_data(data, encoder, cache=tmp_path / "cache")
    assert encoder.encoded == ["1#1"]
    assert (second.location, second.page_ids) == (first.location, ["0", "1"])


# ---------------------------------------------------------------------- queries


class Counting(ColourEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def encode_queries(self, texts):
        self.asked += texts
        return super().encode_queries(texts)


def test_only_new_queries_are_encoded_and_old_ones_dropped(tmp_path):
    path, encoder = tmp_path / "queries.npz", Counting()
    encoded_queries(["red", "green"], encoder, path)
    again = encoded_queries(["red red", "green", "red red"], encoder, path)
    assert encoder.asked == ["red", "green", "red red"]
    assert [query.tolist() for query in again] == [[[1, 0, 0]] * 2, [[0, 1, 0]], [[1, 0, 0]] * 2]
    encoded_queries(["red"], encoder, path)
    assert encoder.asked == ["red", "green", "red red", "red"]
    assert [file.name for file in tmp_path.iterdir()] == ["queries.npz"]


@pytest.mark.parametrize("content", [b"", b"PK, or so it says", None])
def test_a_damaged_file_of_queries_is_made_again(tmp_path, content):
    path = tmp_path / "queries.npz"
    np.savez(path, other=np.zeros(3))
    if content is not None:
        path.write_bytes(content)
    encoder = Counting()
    for _ in range(2):
        (query,) = encoded_queries(["blue"], encoder, path)
        assert query.tolist() == [[0, 0, 1]]
    assert encoder.asked == ["blue"]
