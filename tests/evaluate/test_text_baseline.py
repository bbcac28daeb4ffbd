"""Full-text search beside what is measured of vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docpruner.evaluate.measuring.evaluation import evaluate
from docpruner.evaluate.measuring.methods import BASE
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.measuring.text_baseline import text_results
from docpruner.evaluate.report.html_report import write_report
from docpruner.stores.locations import open_store
from docpruner.types import Filter
from evaluate.made_results import made_results


def test_bm25_is_what_the_index_gives(samples):
    """Of each query the rank of its first right page, by the store's own search."""
    (bm25, hybrid), notes = text_results(samples, np.ones(len(samples.queries)))
    assert (bm25.name, hybrid.name, notes) == ("bm25", "hybrid", [])
    gains = []
    with open_store(samples.location) as store, store.reader() as reader:
        for query in samples.data.judged:
            ranked = reader.rank_text(query.text, 100, Filter())
            ids = [samples.data.pages.page_id(page.name) for page in ranked]
            right = [n for n, each in enumerate(ids, 1) if samples.data.qrels[query.id].get(each)]
            gains.append(1 / right[0] if right else 0.0)
    assert bm25.measures["mrr"] == pytest.approx(np.mean(gains))
    assert bm25.relative == pytest.approx(bm25.score)
    assert 0 < bm25.score <= 1
    assert bm25.text_bytes_per_page > 100


def test_it_is_saved_and_told_in_the_report(samples, tmp_path):
    results = evaluate(samples, [BASE], workers=1).results
    assert [each.name for each in results.text] == ["bm25", "hybrid"]
    results.save(tmp_path)
    assert Results.load(tmp_path / "results.json").text == results.text
    page = write_report(replace(made_results(), text=results.text), tmp_path, {})
    said = page.read_text(encoding="utf-8")
    assert f"<code>bm25</code> has nDCG@5 {results.text[0].score:.3f}" in said


def test_pages_that_were_encoded_before_words_were_kept_are_told(samples, monkeypatch):
    class Old:
        pages, pages_with_text, bytes_of_text = 5, 0, 0

    monkeypatch.setattr("docpruner.stores.folder.moment.FolderReader.stats", lambda _: Old())
    found, (note,) = text_results(samples, np.ones(len(samples.queries)))
    assert found == []
    assert note.startswith("bm25 was left out: pages were encoded before their words were kept")
