"""What is exported ranks as the index does, by nothing but numpy."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from docpruner import Index
from docpruner.errors import ExportError
from docpruner.pipeline import export_formats
from docpruner.pipeline.exporting import export_index
from docpruner.stores.locations import create_store
from docpruner.stores.page_text import PageText
from docpruner.types import Word
from pipeline.made import SAMPLES, builtin
from stores.made import X, Y, commit, document, made_page, settings_of, unit_vectors

QUERIES = ["What does turbidity mean?", "cargo bike", "guest house in March", "wake of turbines"]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exporting")
    with Index.create(folder / "index", encoder=builtin()) as made:
        made.add(SAMPLES, ocr=False, metadata={"year": 2024})
        yield made


def ranked(records: list[dict], query: np.ndarray) -> list[tuple[str, float]]:
    """By plain MaxSim; pages of equal score by their names, as the index has them."""
    scores = [(-float((query @ each["vectors"].T).max(1).sum()), each["id"]) for each in records]
    return [(name, -score) for score, name in sorted(scores)]


def read_lines(path) -> list[dict]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [{**each, "vectors": np.array(each["vectors"])} for each in records]


def read_parquet(path) -> list[dict]:
    return [
        {**each, "vectors": np.array(each["vectors"]), "metadata": json.loads(each["metadata"])}
        for each in pq.read_table(path).to_pylist()
    ]


def read_vespa(path) -> list[dict]:
    records = []
    for line in path.read_text().splitlines():
        put = json.loads(line)
        fields = put["fields"]
        assert put["put"] == f"id:docpruner:page::{fields['id']}"
        blocks = fields["vectors"]["blocks"]
        assert list(blocks) == [str(row) for row in range(len(blocks))]
        vectors = np.array(list(blocks.values()))
        records.append({**fields, "vectors": vectors, "metadata": json.loads(fields["metadata"])})
    return records


READ = {"jsonl": read_lines, "parquet": read_parquet, "vespa": read_vespa}


@pytest.mark.parametrize("format", READ)
def test_an_export_ranks_as_the_index_does(index, tmp_path, format):  # noqa: A002
    path = tmp_path / "pages"
    told = []
    written = index.export(path, format=format, progress=lambda *done: told.append(done))
    stats = index.stats()
    assert (written.pages, written.vectors, written.scale) == (stats.pages, stats.vectors, None)
    assert written.bytes == path.stat().st_size
    assert told[-1] == (stats.pages, stats.pages)
    records = READ[format](path)
    assert [each["id"] for each in records] == [f"{name}#{n}" for name, n in index.pages()]
    assert all(each["metadata"] == {"year": 2024} for each in records)
    assert all(each["width"] > 100 < each["height"] for each in records)
    for text in QUERIES:
        (query,) = index.encoder.encode_queries([text])
        hits = index.search(text, stats.pages, exact=True)
        best = ranked(records, query)
        assert [name for name, _ in best] == [f"{hit.document}#{hit.page}" for hit in hits]
        assert [score for _, score in best] == pytest.approx(
            [hit.score for hit in hits], rel=1e-4, abs=1e-4
        )


@pytest.mark.parametrize("format", READ)
def test_int8_has_one_scale_and_the_same_scores_but_for_the_rounding(
    index,
    tmp_path,
    format,  # noqa: A002
):
    written = index.export(tmp_path / "pages", format=format, vectors="int8")
    records = READ[format](tmp_path / "pages")
    numbers = np.concatenate([each["vectors"] for each in records])
    assert np.abs(numbers).max() == 127
    (query,) = index.encoder.encode_queries(QUERIES[:1])
    best = ranked(records, query)
    hits = {f"{hit.document}#{hit.page}": hit.score for hit in index.search(QUERIES[0], 40)}
    assert [score * written.scale for _, score in best] == pytest.approx(
        [hits[name] for name, _ in best], abs=0.05
    )


def test_bits_are_signs_the_first_number_in_the_highest_bit(tmp_path):
    with create_store("memory://", settings_of(dim=12)) as store:
        vector = np.where(np.arange(12) % 3 == 0, 0.5, -0.5)
        commit(store, document("a.pdf", [[vector]]))
        written = export_index(store, tmp_path / "pages", format="jsonl", vectors="bits")
        (record,) = read_lines(tmp_path / "pages")
        assert record["vectors"].tolist() == [[0b10010010 - 256, 0b01000000]]
        assert (written.vectors, written.dim) == (1, 12)


def test_parquet_says_how_its_vectors_were_made_and_is_written_in_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(export_formats, "ROW_GROUP", 300)
    with create_store("memory://", settings_of(spec="docpruner:k=1")) as store:
        pages = [made_page(n, unit_vectors(10, 4, n)) for n in range(1, 6)]
        commit(store, document("a.pdf", pages))
        export_index(store, tmp_path / "pages.parquet", format="parquet")
    file = pq.ParquetFile(tmp_path / "pages.parquet")
    assert file.num_row_groups == 3  # of 10 × 4 × 4 bytes a page, two at a time
    about = file.schema_arrow.metadata
    assert (about[b"docpruner.encoder"], about[b"docpruner.spec"]) == (b"made", b"docpruner:k=1")
    assert str(file.schema_arrow.field("vectors").type).count("[4]") == 1
    with create_store("memory://", settings_of()) as empty:
        export_index(empty, tmp_path / "none.parquet", format="parquet")
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_words_are_exported_and_what_no_file_can_hold_is_not(tmp_path):
    left, right = (0.1, 0.1, 0.2, 0.2), (0.3, 0.1, 0.4, 0.2)
    words = PageText.of([Word("tide\udc80", left), Word("a\x07b", right)])
    with create_store("memory://", settings_of()) as store:
        page = replace(made_page(1, [X, Y]), text=words)
        commit(store, document("\udcffnote.pdf", [page]))
        export_index(store, tmp_path / "pages", format="jsonl")
        (record,) = read_lines(tmp_path / "pages")
        assert (record["document"], record["text"]) == ("?note.pdf", "tide? a b")


# ---------------------------------------------------------------------- files


def test_a_file_is_there_when_it_is_whole_and_is_not_overwritten_by_chance(index, tmp_path):
    path = tmp_path / "pages.jsonl"

    def stop(done: int, _: int) -> None:
        assert [each.name for each in tmp_path.iterdir()] == ["pages.jsonl.partial"]
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.export(path, format="jsonl", progress=stop)
    assert list(tmp_path.iterdir()) == []
    index.export(path, format="jsonl")
    with pytest.raises(ExportError, match="is there already"):
        index.export(path, format="vespa")
    assert index.export(path, format="vespa", force=True).pages == len(index)
    assert "put" in json.loads(path.read_text().splitlines()[0])


def test_what_can_not_be_written_is_said(index, tmp_path):
    with pytest.raises(ExportError, match=r"nowhere/pages can't be written \(No such file"):
        index.export(tmp_path / "nowhere" / "pages", format="jsonl")
    with pytest.raises(ExportError, match="no format 'csv'; there are: parquet, jsonl, vespa"):
        index.export(tmp_path / "pages", format="csv")
    with pytest.raises(ExportError, match="no vectors as 'int4'; there are: float32, int8, bits"):
        index.export(tmp_path / "pages", format="jsonl", vectors="int4")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_its_library_says_what_to_install(tmp_path):
    program = f"""
import sys
sys.modules["pyarrow"] = None
from docpruner.stores.locations import create_store
from docpruner.stores.settings import Settings
from docpruner.pipeline.exporting import export_index
store = create_store("memory://", Settings.new("made", 4, "none"))
export_index(store, {str(tmp_path / "pages")!r}, format="parquet")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert 'writing Parquet needs the "lance" extra: pip install "docpruner[lance]"' in done.stderr
    assert list(tmp_path.iterdir()) == []
