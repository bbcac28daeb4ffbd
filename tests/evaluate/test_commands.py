"""The three commands as a user runs them: real processes, real files, no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from docpruner.cli.reproduce import table
from docpruner.evaluate.data.benchmarks import VIDORE_V2
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.report.paper_figures import compared
from evaluate.copies import parts, saved, written
from evaluate.made_data import sample_folder
from evaluate.made_results import BASE, made_results

WORDS = ("turbine", "parliament", "chocolate")


@pytest.fixture
def docpruner(tmp_path):
    """Runs a command in a folder of its own, with the libraries' caches there too."""

    def run(*arguments: str, fails: bool = False) -> str:
        homes = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "COLUMNS": "80"}
        command = [sys.executable, "-m", "docpruner", *arguments, "--cache", "cache"]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | homes, capture_output=True, text=True
        )
        assert done.returncode == fails, done.stderr
        return done.stderr if fails else done.stdout

    return run


def words_to_read(folder: Path, *, third: bool = False, queries: int = 3) -> Path:
    """Three pages with a word each, in the layout of the Hub, and queries that ask for them."""
    parts(folder, third=third)
    query_id, corpus_id = ("query_id", "corpus_id") if third else ("query-id", "corpus-id")
    numbers = range(queries)
    asked = [WORDS[number % 3] for number in numbers]
    answers = [number % 3 for number in numbers]
    saved(folder / "corpus", {corpus_id: [0, 1, 2], "image": list(map(written, WORDS))})
    saved(folder / "queries", {query_id: list(numbers), "query": asked})
    qrels = {query_id: list(numbers), corpus_id: answers, "score": [1] * queries}
    saved(folder / "qrels", qrels)
    return folder


def test_evaluate_times_encoding_if_asked(docpruner, tmp_path):
    sample_folder(tmp_path / "data")
    printed = docpruner(
        "evaluate", "data", "--methods", "docpruner:k=-0.25", "--latency", "2", "--no-ocr"
    )
    assert "nDCG@5" in printed
    assert [line.split()[0] for line in printed.splitlines()[2:5]] == ["base", "bm25", "hybrid"]
    lost = (
        "3 of 32 pages have no words, and 5 of 32 queries are answered only there; --ocr reads "
        "such pages"
    )
    assert f"Note: {lost}" in " ".join(printed.split())
    assert "Encoding a page (2 pages timed, " in printed
    assert "0.77 s (+60 % … +66 %)" in printed.replace("\N{NO-BREAK SPACE}", " ")
    results = Results.load(tmp_path / "evaluation" / "results.json")
    assert (results.measure, results.latency.pages) == ("ndcg@5", 2)
    assert results.notes == [lost]
    assert "pages timed" in (tmp_path / "evaluation" / "report.html").read_text(encoding="utf-8")


def test_results_are_replaced_only_on_request(docpruner, tmp_path):
    sample_folder(tmp_path / "data")
    (tmp_path / "evaluation").mkdir()
    older = tmp_path / "evaluation" / "results.json"
    older.write_text("of hours")
    error = docpruner("evaluate", "data", "--methods", "none", "--no-ocr", fails=True)
    assert "evaluation holds results already; choose another folder with --output, or" in error
    assert older.read_text() == "of hours"
    assert not (tmp_path / "cache").exists()  # it is said before anything is done
    docpruner("evaluate", "data", "--methods", "none", "--no-ocr", "--force")
    assert len(Results.load(older).settings) == 1


def test_reproduce_does_not_replace_results_either(docpruner, tmp_path):
    for name in VIDORE_V2:
        parts(tmp_path / name)
    folder = tmp_path / "reproduction" / VIDORE_V2[1].replace("/", "_")
    folder.mkdir(parents=True)
    (folder / "results.json").write_text("of hours")
    error = docpruner("reproduce", "vidore-v2", "--encoder", "builtin", fails=True)
    assert f"{folder.name} holds results already" in error


def test_calibrate_keeps_the_measure_of_the_data(docpruner, tmp_path):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    words_to_read(tmp_path / "third", third=True, queries=21)
    printed = docpruner("calibrate", "third", "--write", "pruning.toml")
    assert "nDCG@10 1.0000 instead of 1.0000 (100.0%)" in " ".join(printed.split())
    assert "100.0% of nDCG@10" in (tmp_path / "pruning.toml").read_text(encoding="utf-8")


def test_calibrate_says_at_once_that_queries_are_too_few(docpruner, tmp_path):
    words_to_read(tmp_path / "few", queries=19)
    error = docpruner("calibrate", "few", fails=True)
    assert "19 queries with answers are too few to choose by; it takes at least 20" in error
    assert not (tmp_path / "cache").exists()


def test_reproduce_averages_scores_and_times_each_data_set(docpruner, tmp_path):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    for name in VIDORE_V2:
        words_to_read(tmp_path / name)
    arguments = ("reproduce", "vidore-v2", "--encoder", "builtin", "--ocr", "--latency", "1")
    answer = json.loads(docpruner(*arguments, "--methods", "docpruner:k=-0.25", "--json"))
    assert answer["measure"] == "ndcg@5"
    assert [(row["spec"], row["score"]) for row in answer["settings"]] == [
        ("none", 1.0),
        ("docpruner:k=-0.25", 1.0),
    ]
    assert list(answer["latency"]) == list(VIDORE_V2)
    for name, latency in answer["latency"].items():
        folder = tmp_path / "reproduction" / name.replace("/", "_")
        assert asdict(Results.load(folder / "results.json").latency) == latency


def test_reproduce_prints_the_paper_only_beside_its_own_measure():
    """The paper has 0.5508 for this encoder unpruned, in nDCG@5."""
    results = made_results()
    (row, *_) = compared("vidore-v2", [results, results])
    assert (row["spec"], row["score"], row["paper_score"]) == ("none", BASE, 0.5508)
    assert row["difference"] == pytest.approx(BASE - 0.5508)
    third = replace(results, measure="ndcg@10")
    (row, *_) = compared("vidore-v2", [third])
    assert (row["score"], "paper_score" in row) == (BASE, False)
    printed = Console(width=100, file=StringIO())
    printed.print(table("vidore-v2", third.measure_name, [row]))
    assert "nDCG@10" in printed.file.getvalue()
