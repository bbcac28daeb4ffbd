"""One pass over the pages gives what encoding, pruning and searching each setting would."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docpruner import Index
from docpruner.errors import DataError
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.evaluate.measuring.encoded import encode_data
from docpruner.evaluate.measuring.evaluation import evaluate, thresholds
from docpruner.evaluate.measuring.methods import read_setting
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.measuring.sweep import sweep
from docpruner.pages.reader import pages_of
from docpruner.stores.records import PageName
from evaluate.made_data import builtin

SETTINGS = [
    read_setting(text)
    for text in (
        "none",
        "docpruner:k=-0.25",
        "docpruner:k=0.5@int8",
        "attention-similarity:k=0,alpha=0.5",
        "sem-cluster:factor=4",
        "docpruner:k=-0.25+sem-cluster:factor=2@int1",
        "random:ratio=0.5",
    )
]


@pytest.fixture(scope="module")
def swept(samples):
    return sweep(samples, SETTINGS, workers=1)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_a_setting_ranks_as_an_index_made_with_it(samples, swept, tmp_path, number):
    setting = SETTINGS[number]
    with Index.create(tmp_path / "idx", spec=setting.spec, codec=setting.codec) as index:
        index.add(samples.data.pages.folder, ocr=False)
        hits = index.search_many([query.text for query in samples.data.judged], k=3)
        stats = index.stats()
    same = [
        [samples.page_ids[place] for place in top[:3]] == [hit.name for hit in best]
        for top, best in zip(swept.top[number].tolist(), hits, strict=True)
    ]
    assert np.mean(same) >= 0.95  # scores of an index are computed by another kernel
    assert swept.kept[number].sum() + swept.special.sum() == stats.vectors


def test_the_cache_holds_vectors_as_they_were_encoded(samples):
    """Rounded, they would make `@float32` a float16 of another name."""
    (cached,) = samples.embeddings([PageName("travel-expense-form.pdf", 1)])
    (page, *_) = pages_of(samples.data.pages.folder / "travel-expense-form.pdf")
    (encoded,) = builtin().encode_pages([page])
    assert np.array_equal(cached.vectors, encoded.vectors)
    assert not np.array_equal(encoded.vectors, encoded.vectors.astype(np.float16))


def test_processes_find_the_same_as_one(samples, swept):
    again = sweep(samples, SETTINGS, workers=2)
    # Products by one thread have other last digits, and pages that are nearly level change places.
    assert np.mean(again.top == swept.top) > 0.99
    assert np.array_equal(again.kept, swept.kept)
    assert np.array_equal(again.entropy, swept.entropy)


def test_progress_counts_pages(samples):
    done: list[tuple[int, int]] = []
    sweep(samples, SETTINGS[:1], workers=1, progress=lambda *now: done.append(now))
    assert done[-1] == (32, 32)
    assert done == sorted(done)


def test_what_is_encoded_is_not_encoded_again(samples):
    class Refusing:
        def __getattr__(self, name: str) -> object:
            if name.startswith("encode"):
                raise AssertionError(f"{name} was called")
            return getattr(builtin(), name)

    again = encode_data(samples.data, Refusing(), cache=Path(samples.location).parent, ocr=False)
    assert (again.location, again.pages) == (samples.location, samples.pages)
    assert all(map(np.array_equal, again.queries, samples.queries))


def test_without_answers_nothing_is_encoded(samples, tmp_path):
    silent = replace(samples.data, qrels={})
    with pytest.raises(DataError, match="samples: no query has an answer"):
        encode_data(silent, builtin(), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_another_folder_is_encoded_apart(samples, tmp_path):
    shutil.copytree(samples.data.pages.folder.parent, tmp_path / "samples")
    (tmp_path / "samples" / "pdfs" / "annual-report.pdf").unlink()
    qrels = tmp_path / "samples" / "qrels.jsonl"
    rest = [line for line in qrels.read_text().splitlines() if "annual" not in line]
    qrels.write_text("\n".join(rest))
    data = load_folder(tmp_path / "samples")
    fewer = encode_data(data, builtin(), cache=Path(samples.location).parent, ocr=False)
    assert len(fewer.pages) == 32 - 13
    assert fewer.location != samples.location


def test_thresholds_divide_the_patches(samples):
    at = thresholds(samples)
    settings = [read_setting(f"attention-threshold:threshold={value}") for value in at]
    swept = sweep(samples, settings, workers=1)
    shares = 1 - swept.kept.sum(axis=1) / swept.patches.sum()
    assert shares == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.01)


@pytest.fixture(scope="module")
def evaluation(samples):
    return evaluate(samples, SETTINGS, workers=1)


def test_results_have_all_that_is_asked_of_them(evaluation):
    results = evaluation.results
    base, pruned = results.settings[:2]
    assert (results.pages, results.queries, base.relative, base.p) == (32, 32, 1.0, 1.0)
    assert base.score == base.measures["ndcg@5"] == pytest.approx(np.mean(evaluation.values[0]))
    assert (results.measure, results.latency) == ("ndcg@5", None)
    assert base.ci[0] < base.score < base.ci[1]
    assert 0.45 < pruned.pruned < 0.55
    assert sum(pruned.pruned_histogram) == 32
    assert pruned.bytes_per_page["float16"] == pytest.approx(512 * pruned.vectors_per_page)
    assert pruned.stored_bytes < base.stored_bytes
    assert results.settings[2].stored_bytes == results.settings[2].bytes_per_page["int8"]
    assert set(results.per_query) == {"none", "docpruner:k=-0.25"}


def test_of_a_base_that_finds_nothing_no_share_is_given(samples, tmp_path):
    qrels = {query.id: {"annual-report.pdf#99": 1} for query in samples.data.queries}
    lost = replace(samples, data=replace(samples.data, qrels=qrels))
    results = evaluate(lost, SETTINGS[:3], workers=1).results
    assert [setting.relative for setting in results.settings] == [None] * 3
    assert results.notes[-1] == (
        "nothing is found even without pruning (nDCG@5 is 0 for every query), so nothing can be "
        "compared with it"
    )
    results.save(tmp_path)
    assert Results.load(tmp_path / "results.json") == results


def test_an_answer_that_is_no_page_is_noted(samples):
    qrels = {**samples.data.qrels, "s-01": {"annual-report.pdf#99": 1}}
    broken = replace(samples, data=replace(samples.data, qrels=qrels))
    results = evaluate(broken, SETTINGS[:1], workers=1).results
    assert "annual-report.pdf#99" in results.notes[0]
    assert results.per_query["none"]["s-01"] == 0
