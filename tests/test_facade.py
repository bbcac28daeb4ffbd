"""An index as a user holds it, on the sample documents and the built-in encoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from docpruner import Index
from docpruner.codecs import bytes_per_vector
from docpruner.errors import EncoderError, IndexStateError, PageError, ScoringError, SpecError
from pipeline.made import SAMPLES, WordEncoder, builtin, text_pdf

TURBIDITY = "What does turbidity mean?"  # answered on page 13 of the report


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("index") / "samples", encoder=builtin()) as index:
        report = index.add(SAMPLES)
        assert (report.outcome, report.pages) == ("all", 32)
        yield index


@pytest.fixture
def index(tmp_path):
    """Three documents of one or two pages."""
    with Index.create(tmp_path / "index", encoder=WordEncoder(), spec="none") as made:
        text_pdf(tmp_path / "docs" / "a.pdf", "apples", "plums")
        text_pdf(tmp_path / "docs" / "b.pdf", "apples")
        text_pdf(tmp_path / "docs" / "old" / "c.pdf", "apples")
        made.add(tmp_path / "docs")
        yield made


def names(hits) -> list[str]:
    return [hit.name for hit in hits]


# ---------------------------------------------------------------------- making and opening


def test_the_default_is_the_built_in_encoder_the_papers_spec_and_int8(tmp_path):
    with Index.create(tmp_path / "index") as index:
        settings = index.settings
    assert (settings.encoder, settings.dim) == ("builtin-v1", 128)
    assert (settings.spec, settings.codec, settings.importances) == (
        "docpruner:k=-0.25",
        "int8",
        True,
    )


def test_a_spec_is_saved_in_its_full_form(tmp_path):
    with Index.create(tmp_path / "index", encoder=builtin(), spec="docpruner") as index:
        assert index.settings.spec == "docpruner:k=-0.25"


def test_an_index_that_is_opened_again_loads_its_own_encoder(samples):
    with Index.open(samples.location) as again:
        assert again.encoder.name == "builtin-v1"
        assert again.search(TURBIDITY) == samples.search(TURBIDITY)


def test_another_encoder_is_refused_with_what_to_do(samples):
    told = (
        r"made with the encoder builtin-v1 \(128 dimensions\), not with words \(16\).*"
        "Open it without an encoder, or make another index"
    )
    with pytest.raises(IndexStateError, match=told):
        Index.open(samples.location, encoder=WordEncoder())


def test_the_same_encoder_is_welcome(samples):
    with Index.open(samples.location, encoder=builtin()) as again:
        assert again.encoder is builtin()


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"spec": "docprune"}, SpecError, "Did you mean 'docpruner'"),
        ({"encoder": "builtin-v9"}, EncoderError, "no encoder builtin-v9"),
        ({"spec": "attention-threshold-nfp:threshold=1"}, IndexStateError, "noise-filtering"),
    ],
)
def test_what_cannot_be_made_leaves_no_folder(tmp_path, options, error, told):
    with pytest.raises(error, match=told):
        Index.create(tmp_path / "index", **{"encoder": builtin()} | options)
    assert not (tmp_path / "index").exists()


def test_an_index_whose_encoder_is_not_installed_can_be_looked_at_and_changed(index):
    with Index.open(index.location) as again:  # there is no encoder of the name "words"
        assert len(again.documents()) == again.stats().documents == 3
        assert len(again.delete("a.pdf")) == 1


# ---------------------------------------------------------------------- adding and searching


@pytest.mark.parametrize("given", [str, Path, lambda path: [path], lambda path: iter([str(path)])])
def test_paths_may_be_given_one_or_many(tmp_path, given):
    path = text_pdf(tmp_path / "a.pdf", "apples")
    with Index.create(tmp_path / "index", encoder=WordEncoder()) as index:
        assert index.add(given(path)).documents == {"added": 1}


def test_the_samples_labelled_pages_are_found(samples):
    """Of the questions about PDFs, at least four in five have the answer among the first three."""
    lines = {name: (SAMPLES / f"{name}.jsonl").read_text("utf-8") for name in ("queries", "qrels")}
    queries, labels = ([json.loads(line) for line in text.splitlines()] for text in lines.values())
    right: dict[str, set[str]] = {}
    for label in labels:
        if label["doc"].endswith(".pdf"):
            right.setdefault(label["query_id"], set()).add(f"{label['doc']}#{label['page']}")
    asked = [query for query in queries if query["query_id"] in right]
    hits = samples.search_many([query["text"] for query in asked], k=3)
    good = [
        bool(right[query["query_id"]] & set(names(best)))
        for query, best in zip(asked, hits, strict=True)
    ]
    assert np.mean(good) >= 0.8


def test_many_queries_give_what_each_gives_alone(samples):
    queries = [TURBIDITY, "dividend per share", "cargo bike battery"]
    assert samples.search_many(queries, 4) == [samples.search(query, 4) for query in queries]


def test_a_search_can_be_narrowed(samples):
    every = samples.search(TURBIDITY, 99)
    assert len(every) == 32
    report = samples.search(TURBIDITY, 99, documents="annual-*")
    assert names(report) == [name for name in names(every) if name.startswith("annual-report")]
    some = samples.search(TURBIDITY, 99, documents=["*.tiff", "tidal*"], pages=(2, 4))
    assert sorted(names(some)) == [
        "landlord-letter-scan.tiff#2",
        *(f"tidal-energy-article.pdf#{number}" for number in (2, 3, 4)),
    ]
    assert samples.search(TURBIDITY, documents=every[0].document)[0] == every[0]
    assert samples.search(TURBIDITY, metadata={"year": "2024"}) == []


def test_metadata_narrows_a_search(index, tmp_path):
    index.add(tmp_path / "docs" / "old", metadata={"shelf": "cellar"})
    (hit,) = index.search("apples", metadata={"shelf": "cellar"})
    assert (hit.name, hit.metadata) == ("c.pdf#1", {"shelf": "cellar"})


def test_questions_that_ask_nothing_are_refused(samples):
    with pytest.raises(EncoderError, match="query 0 is empty"):
        samples.search(" ")
    with pytest.raises(ScoringError, match="k=0 must be at least 1"):
        samples.search(TURBIDITY, 0)


def test_a_stored_page_says_what_was_kept_of_it(samples):
    page = samples.page(str(SAMPLES / "annual-report.pdf"), 13)
    patches = len(page.provenance.patches)
    assert len(page.provenance.importance) == len(page.provenance.boxes) == patches
    assert page.provenance.kept.sum() == len(page.vectors) < patches
    importance = page.provenance.importance.astype(np.float64)
    threshold = importance.mean() - 0.25 * importance.std()
    assert np.array_equal(page.provenance.kept, importance > threshold)


# ---------------------------------------------------------------------- changing


def test_deleting_takes_globs_and_says_what_went(index, tmp_path):
    docs = tmp_path / "docs"
    assert index.delete("old/*") == [str(docs / "old" / "c.pdf")]
    assert index.delete(["a.pdf", "nothing*"]) == [str(docs / "a.pdf")]
    assert [entry.name for entry in index.documents()] == [str(docs / "b.pdf")]
    assert names(index.search("apples")) == ["b.pdf#1"]


def test_compaction_says_how_many_bytes_it_freed(tmp_path):
    with Index.create(tmp_path / "index", encoder=builtin()) as index:
        index.add([SAMPLES / "tidal-energy-article.pdf", SAMPLES / "travel-expense-form.pdf"])
        index.delete("tidal*")
        reclaimable, before = index.stats().bytes_reclaimable, index.stats().bytes_on_disk
        hits = index.search("guest house", 9)
        freed = index.compact()
        assert freed >= reclaimable > 0
        assert index.stats().bytes_on_disk == before - freed
        assert index.stats().bytes_reclaimable == 0
        assert index.search("guest house", 9) == hits


def test_pruning_keeps_the_pages_and_drops_vectors(index):
    before = index.stats()
    done = index.prune("random:ratio=0.9")
    after = index.stats()
    assert (done.before, done.after) == (before.vectors, after.vectors)
    assert (after.pages, after.settings.spec) == (4, index.settings.spec)
    assert index.settings.spec == "random:ratio=0.9"


def test_pages_that_verify_takes_out_come_back_with_the_next_add(index, tmp_path):
    assert index.verify() == []
    path = Path(index.location) / "segments" / "00000001.rows"
    path.write_bytes(b"x" + path.read_bytes()[1:])
    (damage,) = index.verify(isolate=False)
    assert (Path(damage.document).name, damage.page) == ("a.pdf", 1)
    assert damage.reason == "its bytes have changed"
    assert index.stats().missing_pages == 0
    assert index.verify() == [damage]
    assert index.stats().missing_pages == 1
    assert index.add(tmp_path / "docs").documents == {"completed": 1, "unchanged": 2}
    assert index.verify() == []


# ---------------------------------------------------------------------- numbers


def test_the_numbers_of_an_index_add_up(samples):
    stats = samples.stats()
    pages = [
        samples.page(entry.name, number)
        for entry in samples.documents()
        for number in range(1, entry.pages + 1)
    ]
    assert (stats.documents, stats.pages, stats.missing_pages) == (6, 32, 0)
    assert stats.pages_without_words == 3  # two of the scan, and the plan
    assert stats.vectors == sum(len(page.vectors) for page in pages)
    assert stats.vectors_unpruned == sum(len(page.provenance.cells) for page in pages)
    assert stats.bytes_of_vectors == stats.vectors * 130
    assert stats.bytes_unpruned_float16 == stats.vectors_unpruned * 256
    assert stats.pruned == pytest.approx(1 - stats.vectors / stats.vectors_unpruned)
    assert sum(stats.pruned_histogram) == 32
    quantiles = list(stats.pruned_by_page.values())
    assert quantiles == sorted(quantiles)
    by_page = [1 - len(page.vectors) / len(page.provenance.patches) for page in pages]
    assert stats.pruned_by_page["0.5"] == pytest.approx(np.median(by_page))


@pytest.mark.parametrize("codec", ["int8", "binary"])
def test_an_index_takes_little_more_than_its_vectors(tmp_path, codec):
    with Index.create(tmp_path / "index", encoder=builtin(), codec=codec) as index:
        index.add(SAMPLES)
        stats = index.stats()
    on_disk = sum(path.stat().st_size for path in Path(index.location).rglob("*") if path.is_file())
    vectors = stats.vectors * bytes_per_vector(codec, 128)
    assert on_disk <= 1.03 * vectors + 6 * 1024 * stats.pages


def test_a_file_is_up_to_date_until_it_changes_or_goes(index, tmp_path):
    path = tmp_path / "docs" / "a.pdf"
    assert index.is_up_to_date(str(path))
    text_pdf(path, "pears")
    assert not index.is_up_to_date(str(path))
    path.unlink()
    with pytest.raises(PageError, match="is gone since it was indexed; put it back"):
        index.is_up_to_date(str(path))
