"""`docpruner tune`, `search --exact` and what `stats` says of a first stage, on real pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import docpruner as docpruner_package
from cli_process import docpruner
from docpruner import Index
from docpruner.errors import IndexStateError

SAMPLES = Path(docpruner_package.__file__).parent / "samples"
QUESTION = "What does it cost to lease the cargo bike?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    docpruner("index", "my.idx", str(SAMPLES), "--no-ocr", at=folder)
    return folder


def test_a_small_index_has_nothing_to_tune(folder):
    done = docpruner("tune", "my.idx", at=folder)
    assert done.returncode == 1
    assert "my.idx has no first stage to tune: all its pages are scored" in done.stderr
    stats = json.loads(docpruner("stats", "my.idx", "--json", at=folder).stdout)
    assert stats["first_stage"] is None


def test_what_the_first_stage_finds_is_measured_and_told(folder):
    (folder / "questions.txt").write_text(f"{QUESTION}\n\nWhat does turbidity mean?\n")
    done = docpruner("tune", "my.idx", "--renew", "--queries", "questions.txt", "--json", at=folder)
    tuned = json.loads(done.stdout)
    assert (tuned["asked"], tuned["queries"], tuned["pages"]) == (2, 52, 32)
    assert tuned["recall"] == 1  # there are fewer pages than candidates
    shown = docpruner("stats", "my.idx", at=folder).stdout
    assert "first stage" in shown
    assert "recall@10 100.0% (100.0%" in " ".join(shown.split())
    staged = docpruner("search", "my.idx", QUESTION, "--json", at=folder).stdout
    exact = docpruner("search", "my.idx", QUESTION, "--exact", "--json", at=folder).stdout
    assert json.loads(staged) == json.loads(exact)


def test_a_file_without_queries_is_an_error(folder):
    (folder / "empty.txt").write_text("\n \n")
    for name, told in (("empty.txt", "holds no queries"), ("gone.txt", "can't be read as text")):
        done = docpruner("tune", "my.idx", "--queries", name, at=folder)
        assert done.returncode == 1
        assert told in done.stderr


def test_from_python(folder):
    with Index.open(folder / "my.idx") as index:
        state = index.renew_first_stage()
        assert (state.pages, state.pages_outside, state.tuning) == (32, 0, None)
        tuning = index.tune([QUESTION], made=10, target=0.9)
        assert index.first_stage().tuning == tuning
        assert index.tune(made=0, queries=[QUESTION]).queries == 1
        with pytest.raises(IndexStateError, match=r"target=1\.0 must lie between 0 and 1"):
            index.tune(target=1.0)
        with pytest.raises(IndexStateError, match="nothing to measure with"):
            index.tune(made=0)
    with Index.create(None) as memory:
        assert memory.first_stage() is None
        with pytest.raises(IndexStateError, match="has no first stage to tune"):
            memory.tune()
        with pytest.raises(IndexStateError, match="has no first stage of ours to renew"):
            memory.renew_first_stage()
