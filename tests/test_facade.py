"""An index as a user holds it, on the sample documents and the built-in encoder."""

from __future__ import annotations

import datetime
import inspect
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import docpruner
from docpruner import Index, PageEmbedding, reducer
from docpruner.codecs import bytes_per_vector
from docpruner.encoders import load_encoder
from docpruner.errors import (
    AddError,
    EncoderError,
    IndexClosedError,
    IndexStateError,
    InvalidPageError,
    MetadataError,
    PageError,
    ScoringError,
    SpecError,
    TextSearchError,
)
from docpruner.stores.locations import create_store
from docpruner.stores.settings import Settings
from pipeline.made import SAMPLES, WordEncoder, builtin, text_pdf

TURBIDITY = "What does turbidity mean?"  # answered on page 13 of the report


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    with Index.create(tmp_path_factory.mktemp("index") / "samples", encoder=builtin()) as index:
        report = index.add(SAMPLES, ocr=False)
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


def test_the_default_is_the_built_in_encoder_the_papers_spec_and_int2(tmp_path):
    with Index.create(tmp_path / "index") as index:
        settings = index.settings
    assert (settings.encoder, settings.dim) == ("builtin-v2", 256)
    assert (settings.spec, settings.codec, settings.importances) == (
        "docpruner:k=-0.25",
        "int2",
        True,
    )


@pytest.mark.parametrize(
    ("encoder", "options", "codec"),
    [
        ("builtin-v1", {}, "int4"),
        (WordEncoder(), {}, "int4"),  # which says nothing of a codec
        ("builtin", {"codec": "int8"}, "int8"),
        ("builtin", {"budget": "1GB"}, "int8"),
    ],
)
def test_the_codec_is_the_one_asked_for_or_the_encoders_or_int4(encoder, options, codec):
    with Index.create(None, encoder=encoder, **options) as index:
        assert index.settings.codec == codec


def test_a_spec_is_saved_in_its_full_form(tmp_path):
    with Index.create(tmp_path / "index", encoder=builtin(), spec="docpruner") as index:
        assert index.settings.spec == "docpruner:k=-0.25"


def test_an_index_that_is_opened_again_loads_its_own_encoder(samples):
    with Index.open(samples.location) as again:
        assert again.encoder.name == "builtin-v2"
        assert again.search(TURBIDITY) == samples.search(TURBIDITY)


def test_another_encoder_is_refused_with_what_to_do(samples):
    told = (
        r"made with the encoder builtin-v2 \(256 dimensions\), not with words \(16\).*"
        "Open it without an encoder, or make another index"
    )
    with pytest.raises(IndexStateError, match=told):
        Index.open(samples.location, encoder=WordEncoder())


def test_vectors_of_another_width_than_the_encoder_has_now_are_an_error_that_says_so(tmp_path):
    narrow = Settings.new("builtin-v2", 128, "none", "int4")
    create_store(tmp_path / "index", narrow).close()
    with (
        Index.open(tmp_path / "index") as index,
        pytest.raises(IndexStateError, match=r"128 dimensions, those of builtin-v2 now have 256"),
    ):
        index.search(TURBIDITY)


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
    assert len(page.provenance.importance) == len(page.provenance.boxes) == patches + page.special
    assert page.provenance.kept.sum() == len(page.vectors) < patches
    importance = page.provenance.importance[page.provenance.patches].astype(np.float64)
    threshold = importance.mean() - 0.25 * importance.std()
    kept = page.provenance.kept[page.provenance.patches]
    assert np.array_equal(kept, importance > threshold)


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
    assert stats.bytes_of_vectors == stats.vectors * 66
    assert stats.bytes_unpruned_float16 == stats.vectors_unpruned * 512
    special = sum(page.special for page in pages)  # of title pages; not counted as patches
    kept, patches = stats.vectors - special, stats.vectors_unpruned - special
    assert stats.pruned == pytest.approx(1 - kept / patches)
    assert sum(stats.pruned_histogram) == 32
    quantiles = list(stats.pruned_by_page.values())
    assert quantiles == sorted(quantiles)
    by_page = [1 - (len(page.vectors) - page.special) / page.patches for page in pages]
    assert stats.pruned_by_page["0.5"] == pytest.approx(np.median(by_page))


@pytest.mark.parametrize("codec", ["int8", "binary"])
def test_an_index_takes_little_more_than_its_vectors(tmp_path, codec):
    with Index.create(tmp_path / "index", encoder=builtin(), codec=codec) as index:
        index.add(SAMPLES, ocr=False)
        stats = index.stats()
    on_disk = sum(path.stat().st_size for path in Path(index.location).rglob("*") if path.is_file())
    vectors = stats.vectors * bytes_per_vector(codec, 256)
    # more where the machine is slow: commits are made by time, and each leaves some room
    assert on_disk <= 1.03 * vectors + stats.bytes_empty + 4 * 1024 * stats.pages


def test_a_file_is_up_to_date_until_it_changes_or_goes(index, tmp_path):
    path = tmp_path / "docs" / "a.pdf"
    assert index.is_up_to_date(str(path))
    text_pdf(path, "pears")
    assert not index.is_up_to_date(str(path))
    path.unlink()
    with pytest.raises(PageError, match="is gone since it was indexed; put it back"):
        index.is_up_to_date(str(path))


# ---------------------------------------------------------------------- what people look for


def test_open_or_create_makes_an_index_once_and_opens_it_then(tmp_path):
    where = tmp_path / "index"
    assert not Index.exists(where)
    with Index.open_or_create(where, encoder=builtin(), reduction="docpruner:k=0") as index:
        index.add(SAMPLES / "travel-expense-form.pdf")
    assert Index.exists(where)
    with Index.open_or_create(
        where, encoder="builtin", reduction=reducer("docpruner:k=0")
    ) as index:
        assert len(index) > 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"spec": "docpruner:k=1"},
            r"has spec docpruner:k=-0\.25, not docpruner:k=1.*docpruner",
        ),
        ({"codec": "float16"}, "has codec int2, not float16: leave the option out"),
        ({"encoder": "vidore/colpali"}, "has encoder builtin-v2, not vidore/colpali"),
        ({"importances": False}, "has importances True, not False"),
    ],
)
def test_open_or_create_says_what_is_not_as_asked_for(tmp_path, options, told):
    Index.create(tmp_path / "index", encoder=builtin()).close()
    with pytest.raises(IndexStateError, match=told):
        Index.open_or_create(tmp_path / "index", **options)


def test_reduction_and_spec_are_the_same_so_one_is_enough(tmp_path):
    with pytest.raises(IndexStateError, match="reduction and spec are the same"):
        Index.create(tmp_path / "index", spec="none", reduction="none")


def test_an_index_is_not_opened_by_its_constructor(tmp_path):
    with pytest.raises(IndexStateError, match=r"opens nothing; call Index\.open, Index\.create"):
        Index(str(tmp_path))


def test_an_index_has_a_length_and_knows_its_documents(index, tmp_path):
    assert len(index) == 4
    assert "a.pdf" in index
    assert "old/c.pdf" in index
    assert tmp_path / "docs" / "b.pdf" in index
    assert "c" not in index
    assert 7 not in index
    assert index.pages()[:2] == [(str(tmp_path / "docs" / "a.pdf"), n) for n in (1, 2)]
    assert index.page(*index.pages()[1]).number == 2


def test_an_index_in_memory_is_the_same_without_a_folder(tmp_path):
    text_pdf(tmp_path / "a.pdf", "apples", "plums")
    with Index.create(None, encoder=WordEncoder(), spec="none") as index:
        assert index.add(tmp_path).pages == 2
        assert names(index.search("plums", 1)) == ["a.pdf#2"]
        assert index.prune("random:ratio=0.9").after == 2
        assert index.compact() == 0
        with pytest.raises(IndexStateError, match="has no checksums of its own"):
            index.verify()
    assert [path.name for path in tmp_path.iterdir()] == ["a.pdf"]


def test_a_closed_index_says_that_it_is_closed(tmp_path):
    index = Index.create(tmp_path / "index", encoder=WordEncoder())
    index.close()
    index.close()
    for use in (index.stats, index.documents, lambda: index.search("apples"), lambda: len(index)):
        with pytest.raises(IndexClosedError, match="is closed; open it again"):
            use()


def test_nothing_that_went_in_is_an_error_with_its_report(index, tmp_path):
    with pytest.raises(AddError, match=r"missing\.pdf: does not exist") as caught:
        index.add([tmp_path / "missing.pdf", tmp_path / "missing too.pdf"])
    assert len(caught.value.report.problems) == 2
    assert "and 1 more problem" in str(caught.value)


def test_strict_is_for_who_wants_all_or_an_error(index, tmp_path):
    some = [tmp_path / "docs", tmp_path / "missing.pdf"]
    assert index.add(some).outcome == "some"
    with pytest.raises(AddError, match="does not exist"):
        index.add(some, strict=True)


def test_an_empty_path_names_nothing(index):
    with pytest.raises(PageError, match="an empty path names nothing"):
        index.add("")


# ---------------------------------------------------------------------- other sources


def test_pictures_in_memory_are_documents_of_one_page():
    with Image.open(SAMPLES / "site-plan.png") as plan:
        plan.load()
    blank = Image.new("RGB", (40, 60), "white")
    with Index.create(None, encoder=Brightness(), spec="none") as index:
        report = index.add_images([plan, blank], names=["plan", "blank"], metadata={"from": "me"})
        assert (report.documents, report.pages) == ({"added": 2}, 2)
        assert [entry.name for entry in index.documents()] == ["blank", "plan"]
        assert index.add_images([plan], names=["plan"]).documents == {"unchanged": 1}
        (hit, _) = index.search(image=blank)
        assert (hit.document, hit.page, hit.size) == ("blank", 1, (40.0, 60.0))
        with pytest.raises(PageError, match="blank#1: is not a file; look it up by its name"):
            hit.image()
        with pytest.raises(InvalidPageError, match="image 2 has no name"):
            index.add_images([plan, blank], names=["one"])


def test_a_picture_without_a_name_is_called_by_its_content():
    blank = Image.new("RGB", (40, 60), "white")
    with Index.create(None, encoder=Brightness(), spec="none") as index:
        index.add_images(blank)
        index.add_images(image for image in [blank, blank])
        (entry,) = index.documents()
        assert entry.name.startswith("image-")


def test_words_of_pictures_are_recognised():
    with Image.open(SAMPLES / "landlord-letter-scan.tiff") as scan:
        letter = scan.convert("RGB")
    with Index.create(None, encoder=builtin()) as index:
        assert index.add_images([letter], names=["letter"], ocr=False).without_words == 1
        assert index.add_images([letter], names=["letter"]).pages == 0  # it is in, as it is
        report = index.add_images([letter], names=["letter"], ocr=True)
        assert (report.pages, report.without_words) == (1, 0)
        (hit,) = index.search("When is the rent due?")
        assert "Weavers Lane" in hit.text


def test_embeddings_from_elsewhere_are_reduced_and_stored_without_an_encoder(tmp_path):
    rng = np.random.default_rng(0)

    def embedded(name: str) -> PageEmbedding:
        return PageEmbedding(name, rng.normal(size=(12, 16)), rng.random(12), (3, 4))

    Index.create(
        tmp_path / "index", encoder=WordEncoder(), spec="attention-ratio:ratio=0.5", codec="int8"
    ).close()
    pages = [embedded("report.pdf#1"), embedded("report.pdf#2"), embedded("a plan")]
    with Index.open(tmp_path / "index") as index:  # there is no encoder "words" to load
        report = index.add_embeddings(page for page in pages)
        assert (report.documents, report.pages, report.vectors) == ({"added": 2}, 3, 18)
        assert index.add_embeddings(pages).documents == {"unchanged": 2}
        assert index.pages() == [("a plan", 1), ("report.pdf", 1), ("report.pdf", 2)]
        best = index.search(vectors=pages[1].vectors[-1:], k=3)
        assert len(best) == 3
        stored = index.page("report.pdf", 2)
        assert (
            np.abs(
                stored.vectors.decode() - reducer("attention-ratio:ratio=0.5")(pages[1]).vectors
            ).max()
            < 0.02
        )
        with pytest.raises(InvalidPageError, match="its pages don't follow each other"):
            index.add_embeddings([pages[0], pages[2], pages[1]])
        with pytest.raises(AddError, match="has vectors of 8 dimensions, the index 16"):
            index.add_embeddings(PageEmbedding("other", np.ones((1, 8)), [1], (1, 1)))


def test_a_search_is_by_one_thing(index):
    with pytest.raises(ScoringError, match="give one of query, vectors and image"):
        index.search()
    with pytest.raises(ScoringError, match="give one of query, vectors and image"):
        index.search("apples", vectors=np.ones((1, 16)))
    with pytest.raises(EncoderError, match="reads words only; searching by image needs"):
        index.search(image=Image.new("RGB", (4, 4)))


def test_vectors_find_what_their_text_finds(index):
    vectors = index.encoder.encode_queries(["apples"])[0]
    assert names(index.search(vectors=vectors)) == names(index.search("apples"))


# ---------------------------------------------------------------------- metadata


def test_metadata_may_differ_by_document(tmp_path):
    docs = tmp_path / "docs"
    for name in ("a.pdf", "b.pdf", "old/a.pdf"):
        text_pdf(docs / name, "apples")
    table = tmp_path / "table.csv"
    table.write_text("path,year,lang\nb.pdf,2024,en\nold/a.pdf,1999,\n", encoding="utf-8")

    def metadata(given) -> list[dict]:
        with Index.create(None, encoder=WordEncoder(), spec="none") as index:
            index.add(docs, metadata=given)
            return [dict(entry.metadata) for entry in index.documents()]

    by_table = [{}, {"year": "2024", "lang": "en"}, {"year": "1999"}]
    assert metadata(table) == by_table
    assert metadata(str(table)) == by_table
    assert metadata({"b.pdf": {"n": 2}, "a.pdf": {"n": 1}}) == [{"n": 1}, {"n": 2}, {"n": 1}]
    by_function = metadata(
        lambda path: {"folder": Path(path).parent.name} if "old" in path else None
    )
    assert by_function == [{}, {}, {"folder": "old"}]


def test_metadata_is_added_to_what_is_there_and_none_takes_it_away(index, tmp_path):
    index.add(tmp_path / "docs", metadata={"year": 2024, "draft": True})
    report = index.add(tmp_path / "docs" / "a.pdf", metadata={"lang": "en", "draft": None})
    assert (report.documents, report.metadata_changed) == ({"unchanged": 1}, 1)
    metadata = {Path(entry.name).name: entry.metadata for entry in index.documents()}
    assert metadata["a.pdf"] == {"year": 2024, "lang": "en"}
    assert metadata["b.pdf"] == {"year": 2024, "draft": True}


def test_metadata_is_updated_without_the_files(index, tmp_path):
    docs = tmp_path / "docs"
    (docs / "a.pdf").unlink()
    assert index.update_metadata(["a.pdf", "old/*"], {"tags": ["x", 1]}) == [
        str(docs / "a.pdf"),
        str(docs / "old" / "c.pdf"),
    ]
    assert index.update_metadata("a.pdf", {"tags": ["x", 1]}) == []
    assert names(index.search("apples", metadata={"tags": 1})) == ["a.pdf#1", "c.pdf#1", "a.pdf#2"]


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (
            {"when": datetime.date(2024, 1, 1)},
            r"when of .* is datetime\.date\(.*\); give text",
        ),
        ({"x": float("nan")}, "x of .* is nan"),
        ({3: "x"}, "the key 3 is not text"),
        (lambda path: 7, "is 7; give a mapping, or None"),  # noqa: ARG005
        ("no such.csv", r"no such\.csv can't be read"),
    ],
)
def test_metadata_that_cannot_be_stored_is_told_and_nothing_is_lost(
    index, tmp_path, metadata, told
):
    with pytest.raises(MetadataError, match=told):
        index.add(tmp_path / "docs", metadata=metadata)
    assert len(index) == 4


# ---------------------------------------------------------------------- hits


def test_a_hit_can_be_read_and_seen(samples):
    (hit,) = samples.search("What does it cost to lease the cargo bike?", 1)
    assert "Lease\n€149\na month" in hit.text
    assert "Lease" in hit.snippet()
    assert len(hit.snippet(60)) <= 64
    assert hit.image(width=300).size[0] == 300
    described = hit.to_dict()
    assert json.loads(json.dumps(described)) == described
    assert (described["page"], described["score"]) == (hit.page, round(hit.score, 4))


def test_a_hit_whose_file_is_gone_still_has_its_text(index, tmp_path):
    (hit, *_) = index.search("plums")
    (tmp_path / "docs" / "a.pdf").unlink()
    assert "plums" in hit.text
    assert "[plums]" in hit.snippet(mark=("[", "]"))
    with pytest.raises(PageError, match=r"a\.pdf.*does not exist"):
        hit.image()


def test_without_stored_text_a_hit_reads_its_file(tmp_path):
    path = text_pdf(tmp_path / "docs" / "a.pdf", "plums")
    with Index.create(tmp_path / "index", encoder=WordEncoder(), text=False) as index:
        index.add(path)
        (hit,) = index.search("plums")
        assert (hit.text, hit.tells_words) == ("plums", False)
        assert not index.page(str(path), 1).text.is_stored
        assert (index.stats().pages_with_text, index.stats().bytes_of_text) == (0, 0)
        path.unlink()
        for read in (lambda: hit.text, hit.snippet, hit.image):
            with pytest.raises(PageError, match=r"a\.pdf.*does not exist"):
                read()
        for mode in ("text", "hybrid"):
            with pytest.raises(TextSearchError, match="no words stored, by --no-text"):
                index.search("plums", mode=mode)
    with pytest.raises(IndexStateError, match="has text False, not True"):
        Index.open_or_create(tmp_path / "index", text=True)


def test_one_page_is_asked_by_itself(samples):
    hit = samples.hit(TURBIDITY, str(SAMPLES / "annual-report.pdf"), 2)
    assert (hit.name, hit.page) == ("annual-report.pdf#2", 2)
    assert samples.hit(TURBIDITY, str(SAMPLES / "annual-report.pdf"), 99) is None


def test_the_public_names_are_at_the_top():
    assert docpruner.__version__ == version("docpruner")
    assert docpruner.load_encoder is load_encoder
    assert docpruner.errors.PageError is PageError
    assert issubclass(docpruner.DocPrunerError, Exception)
    for name, member in inspect.getmembers(Index, callable):
        if not name.startswith("_"):
            assert inspect.getdoc(member), f"Index.{name} has no docstring"


class Brightness(WordEncoder):
    """Sees how bright a picture is, and nothing else."""

    pixels, reads = 10_000, "pixels"

    def encode_pages(self, pages):
        pictures = [page if isinstance(page, Image.Image) else page.render() for page in pages]
        vectors = [
            np.float32([1, np.asarray(image.convert("L")).mean() / 255]) for image in pictures
        ]
        return [
            PageEmbedding("page", np.pad(each / np.linalg.norm(each), (0, 14))[None], [1], (1, 1))
            for each in vectors
        ]


# ---------------------------------------------------------------------- documents below a root


def test_documents_below_a_root_are_moved_together_with_the_index(tmp_path):
    shelf = tmp_path / "shelf"
    text_pdf(shelf / "docs" / "a.pdf", "apples")
    text_pdf(shelf / "docs" / "old" / "b.pdf", "plums")
    with Index.create(
        shelf / "index", encoder=WordEncoder(), spec="none", root=shelf / "docs"
    ) as index:
        index.add(shelf / "docs")
        assert [entry.name for entry in index.documents()] == ["a.pdf", "old/b.pdf"]
        assert index.search("plums", 1)[0].text == "plums"
    shelf.rename(tmp_path / "elsewhere")
    docs = tmp_path / "elsewhere" / "docs"
    with Index.open(tmp_path / "elsewhere" / "index", encoder=WordEncoder()) as index:
        assert index.file_of("a.pdf") == str(docs / "a.pdf")
        assert index.is_up_to_date("old/b.pdf")
        assert index.search("plums", 1)[0].text == "plums"
        assert index.add(docs).documents == {"unchanged": 2}
        (docs / "a.pdf").unlink()
        assert index.add(docs / "old").missing == []
        assert index.add(docs, delete_missing=True).deleted == ["a.pdf"]


def test_documents_that_were_moved_alone_are_found_by_their_new_root(tmp_path):
    text_pdf(tmp_path / "docs" / "a.pdf", "apples")
    where = tmp_path / "index"
    with Index.create(where, encoder=WordEncoder(), spec="none", root=tmp_path / "docs") as index:
        index.add(tmp_path / "docs")
    (tmp_path / "docs").rename(tmp_path / "papers")
    with (
        Index.open(where, encoder=WordEncoder()) as index,
        pytest.raises(PageError, match="does not exist"),
    ):
        index.search("apples")[0].image()
    with Index.open(where, encoder=WordEncoder(), root=tmp_path / "papers") as index:
        assert index.search("apples")[0].image(width=50).width == 50


def test_a_file_outside_the_root_is_a_problem(tmp_path):
    path = text_pdf(tmp_path / "a.pdf", "apples")
    where = tmp_path / "index"
    with (
        Index.create(where, encoder=WordEncoder(), root=tmp_path / "docs") as index,
        pytest.raises(AddError, match=r"is not below .*docs, the root of the index"),
    ):
        index.add(path)


def test_an_index_without_a_root_is_not_given_one(index, tmp_path):
    with pytest.raises(IndexStateError, match="made without a root"):
        Index.open(index.location, root=tmp_path)
