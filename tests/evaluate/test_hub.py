"""Benchmarks by name, on small copies in the layouts of the Hub, read by the real library."""

import struct
import sys
import time
import zlib
from io import BytesIO
from pathlib import Path

import pytest

pytest.importorskip("datasets", reason="the extra eval is not installed")

import datasets

from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.errors import DataError, MissingExtraError
from docpruner.evaluate.data import hub
from docpruner.evaluate.data.benchmarks import GROUPS, languages_of, layout_of, named
from docpruner.evaluate.data.hub import load_benchmark
from docpruner.evaluate.data.pinned_revisions import REVISIONS
from docpruner.evaluate.measuring.encoded import encode_data
from docpruner.evaluate.measuring.evaluation import evaluate
from docpruner.evaluate.measuring.methods import BASE
from docpruner.evaluate.measuring.study import Study
from docpruner.pipeline import add
from docpruner.stores.locations import open_store
from docpruner.stores.records import PageName
from evaluate.copies import (
    BLUE,
    GREEN,
    GREY,
    RED,
    ColourEncoder,
    flat,
    page,
    parts,
    readme,
    saved,
    written,
)


@pytest.fixture(autouse=True)
def hf_home(tmp_path_factory, monkeypatch):
    """What the library caches stays out of the user's home, and it never looks at the network."""
    home = tmp_path_factory.mktemp("hf")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", home / "datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return home


def ndcg(data, tmp_path, encoder=None):
    encoded = encode_data(data, encoder or ColourEncoder(), cache=tmp_path / "cache")
    return evaluate(encoded, [BASE], workers=1).results.base.measures["ndcg@5"]


# ---------------------------------------------------------------------- layouts


def test_a_flat_table_has_its_pages_and_queries_in_the_same_rows(tmp_path):
    (data,) = load_benchmark(str(flat(tmp_path / "docvqa" / "data").parent))
    assert data.name == "docvqa"
    assert data.pages.rows == {"a.png": 0, "b.png": 1, "c.png": 3}  # a.png is there twice
    assert [query.text for query in data.queries] == ["red", "green", "red red"]
    assert list(data.qrels.values()) == [{"a.png": 1}, {"b.png": 1}, {"a.png": 1}]
    assert data.measure == "ndcg@5"
    assert ndcg(data, tmp_path) == 1.0


def test_a_query_on_two_pages_has_two_answers(tmp_path):
    rows = {"query": ["red", "red"], "image": [page(RED)] * 2, "image_filename": ["a", "b"]}
    saved(tmp_path / "twice", rows)
    (data,) = load_benchmark(str(tmp_path / "twice"))
    assert len(data.queries) == 1
    assert data.qrels[data.queries[0].id] == {"a": 1, "b": 1}


def test_a_flat_table_for_each_language_is_a_data_set_for_each(tmp_path):
    """JinaVDR: airbnb-synthetic-retrieval has a config for each language."""
    for language in ("de", "jp"):
        flat(tmp_path / "airbnb" / language)
    readme(tmp_path / "airbnb", {"de": "de", "jp": "jp"})
    both = load_benchmark(str(tmp_path / "airbnb"))
    assert [data.name for data in both] == ["airbnb/de", "airbnb/jp"]
    assert {query.lang for query in both[1].queries} == {"jp"}
    (japanese,) = load_benchmark(str(tmp_path / "airbnb"), language="ja")
    assert japanese.name == "airbnb/jp"


@pytest.mark.parametrize("declared", [True, False], ids=["with README", "without"])
def test_three_tables_are_pages_queries_and_answers(tmp_path, declared):
    folder = parts(tmp_path / "esg", languages=["english", "french", "english"])
    if declared:
        readme(folder, {part: part for part in ("corpus", "queries", "qrels")})
    (data,) = load_benchmark(str(folder))
    assert list(data.pages.rows) == ["0", "1", "2"]
    assert [query.lang for query in data.queries] == ["english", "french", "english"]
    assert data.qrels == {"0": {"0": 1}, "1": {"1": 2}, "2": {"2": 1}}
    assert data.measure == "ndcg@5"
    assert ndcg(data, tmp_path) == 1.0


def test_ids_may_be_text(tmp_path):
    folder = parts(tmp_path / "text", ids=["p/1", "p/2", "ü"], query_ids=["a", "b", "c"])
    (data,) = load_benchmark(str(folder))
    assert list(data.pages.rows) == ["p/1", "p/2", "ü"]
    assert data.qrels["c"] == {"ü": 1}
    assert ndcg(data, tmp_path) == 1.0


def test_the_third_version_is_told_by_its_columns(tmp_path):
    languages = ["french", "english", "french"]
    folder = parts(tmp_path / "hr", languages=languages, third=True)
    (data,) = load_benchmark(str(folder))
    assert data.measure == "ndcg@10"
    assert ndcg(data, tmp_path) == 1.0


def test_the_third_version_is_ranked_by_ten_pages(tmp_path):
    """Six pages are redder than the only answer: in seventh place it counts 1 / log2(8)."""
    folder, count = tmp_path / "hr", 12
    pages = [page((220, 10 + 8 * number, 10)) for number in range(count)]
    saved(folder / "corpus", {"corpus_id": list(range(count)), "image": pages})
    saved(folder / "queries", {"query_id": [0], "query": ["red"], "language": ["english"]})
    saved(folder / "qrels", {"query_id": [0], "corpus_id": [6], "score": [1]})
    (data,) = load_benchmark(str(folder))
    encoded = encode_data(data, ColourEncoder(), cache=tmp_path / "cache")
    evaluation = evaluate(encoded, [BASE], workers=1)
    results, base = evaluation.results, evaluation.results.base
    assert (results.measure, results.measure_name) == ("ndcg@10", "nDCG@10")
    assert (base.measures["ndcg@5"], base.measures["ndcg@10"]) == (0, pytest.approx(1 / 3))
    assert base.score == base.ci[0] == base.ci[1] == base.measures["ndcg@10"]
    assert base.by_language == {"english": base.score}
    assert results.per_query["none"]["0"] == evaluation.values[0][0] == base.score


def test_tables_below_a_folder_for_each_language(tmp_path):
    """JinaVDR in its `_beir` form."""
    for language in ("de", "en"):
        parts(tmp_path / "stocks" / language)
    both = load_benchmark(str(tmp_path / "stocks"))
    assert [data.name for data in both] == ["stocks/de", "stocks/en"]
    (german,) = load_benchmark(str(tmp_path / "stocks"), language="german")
    assert {query.lang for query in german.queries} == {"de"}
    assert ndcg(german, tmp_path) == 1.0


def test_tables_below_the_folder_default(tmp_path):
    parts(tmp_path / "news" / "default")
    (data,) = load_benchmark(str(tmp_path / "news"))
    assert data.name == "news"
    assert {query.lang for query in data.queries} == {""}


def test_a_language_chooses_queries_and_leaves_the_pages(tmp_path):
    folder = parts(tmp_path / "esg", languages=["english", "french", "english"])
    (all_,), (french,) = load_benchmark(str(folder)), load_benchmark(str(folder), language="fr")
    assert [query.text for query in french.queries] == ["green"]
    assert french.pages.key == all_.pages.key  # encoded once for both
    with pytest.raises(DataError, match="no queries in 'klingon', only in english, french"):
        load_benchmark(str(folder), language="klingon")


def test_a_known_data_set_of_one_language_has_it(tmp_path, monkeypatch):
    """A folder of that name goes before the Hub, as it does for `datasets`."""
    monkeypatch.chdir(tmp_path)
    flat(tmp_path / "jinaai" / "europeana-de-news")
    (data,) = load_benchmark("jinaai/europeana-de-news", language="de")
    assert data.name == "jinaai/europeana-de-news"
    assert {query.lang for query in data.queries} == {"de"}


def test_empty_queries_are_left_out(tmp_path):
    (data,) = load_benchmark(str(parts(tmp_path / "gaps", queries=["red", None, " "])))
    assert [query.text for query in data.queries] == ["red"]


# ---------------------------------------------------------------------- pages into a store


def many(folder: Path, count: int = 20) -> Path:
    """That many pages of other sizes, and a query for the last."""
    pages = [page(GREY, 40 + number) for number in range(count - 1)] + [page(BLUE)]
    saved(folder / "corpus", {"corpus-id": list(range(count)), "image": pages})
    saved(folder / "queries", {"query-id": ["q"], "query": ["blue"]})
    saved(folder / "qrels", {"query-id": ["q"], "corpus-id": [count - 1], "score": [1]})
    return folder


class SlowEncoder(ColourEncoder):
    """So slow that what it has encoded is written before it encodes more."""

    def encode_pages(self, pages):
        time.sleep(0.1)
        return super().encode_pages(pages)


def test_a_run_that_was_stopped_goes_on_and_encodes_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 1)
    (data,) = load_benchmark(str(many(tmp_path / "many")))
    first, second, third = SlowEncoder(), ColourEncoder(), ColourEncoder()
    first.patience = 12
    with pytest.raises(KeyboardInterrupt):
        encode_data(data, first, cache=tmp_path / "cache")
    reports = []
    encoded = encode_data(
        data,
        second,
        cache=tmp_path / "cache",
        progress=lambda report: reports.append((report.pages, report.share)),
    )
    assert 8 <= len(second.encoded) < 20
    assert sorted(encoded.page_ids, key=int) == [str(number) for number in range(20)]
    assert reports[-1] == (len(second.encoded), pytest.approx(1.0))
    encode_data(data, third, cache=tmp_path / "cache")
    assert third.encoded == []


def test_each_page_is_a_document_called_by_its_id(tmp_path):
    (data,) = load_benchmark(str(parts(tmp_path / "esg", ids=["p/1", "p/2", "q"])))
    encoder = ColourEncoder()
    encoded = encode_data(data, encoder, cache=tmp_path / "cache")
    assert encoder.encoded == ["1#1", "2#1", "q#1"]
    with open_store(encoded.location) as store, store.reader() as reader:
        assert [(entry.name, entry.pages) for entry in reader.documents()] == [
            ("p/1", 1),
            ("p/2", 1),
            ("q", 1),
        ]
    assert encoded.page_ids == ["p/1", "p/2", "q"]
    assert data.pages.picture(PageName("q", 1)).getpixel((0, 0)) == BLUE


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_a_picture_is_read_by_a_child_whatever_its_kind(tmp_path, monkeypatch, kind):
    """Here it is never opened: Pillow can open nothing in this process."""
    file = BytesIO()
    page(BLUE).save(file, kind)
    folder = parts(tmp_path / "esg")
    pictures = [{"bytes": file.getvalue(), "path": None}] * 3
    saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": pictures})
    (data,) = load_benchmark(str(folder))
    monkeypatch.setattr("PIL.Image.open", None)
    encoded = encode_data(data, ColourEncoder(), cache=tmp_path / "cache")
    assert len(encoded.pages) == 3
    drawn = data.pages.picture(PageName("0", 1)).getpixel((20, 20))
    assert drawn == pytest.approx(BLUE, abs=3)


def test_a_page_read_for_its_words_can_still_be_drawn(tmp_path):
    (data,) = load_benchmark(str(parts(tmp_path / "esg")))
    (middle,) = data.pages.some_pages(1, pixels=None, ocr=False)
    assert middle.render().getpixel((0, 0)) == GREEN


def test_other_pictures_have_another_hash(tmp_path):
    """Also if their files are as large: PNGs that are not compressed."""
    prints = []
    for name, colour in (("one", RED), ("same", RED), ("other", GREEN)):
        file = BytesIO()
        page(colour).save(file, "PNG", compress_level=0)
        pictures = [{"bytes": file.getvalue(), "path": None}] * 3
        folder = parts(tmp_path / name)
        saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": pictures})
        (data,) = load_benchmark(str(folder))
        prints.append((len(file.getvalue()), data.pages.content_hashes["1"]))
    assert prints[0] == prints[1] != prints[2]
    assert prints[0][0] == prints[2][0]


def huge_png() -> bytes:
    """A header of 20,000 × 20,000 pixels, and hardly a byte behind it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels


def test_pictures_that_no_page_could_be_are_refused_alone(tmp_path):
    pictures = [
        {"bytes": huge_png(), "path": None},
        {"bytes": b"GIF89a, or so it says", "path": None},
        page(RED),
    ]
    folder = parts(tmp_path / "bad")
    saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": pictures})
    (data,) = load_benchmark(str(folder))
    seen = []
    encoded = encode_data(
        data,
        ColourEncoder(),
        cache=tmp_path / "cache",
        progress=lambda report: seen.append([str(problem) for problem in report.problems]),
    )
    assert encoded.page_ids == ["2"]
    large, animated = seen[-1]
    assert large.startswith("bad#0: is too large (20000×20000 pixels)")
    assert animated.startswith("bad#1: is not an image")
    assert "GIF" in animated


def test_no_page_at_all_is_an_error(tmp_path):
    folder = parts(tmp_path / "bad")
    broken = [{"bytes": b"nothing", "path": None}] * 3
    saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": broken})
    (data,) = load_benchmark(str(folder))
    with pytest.raises(DataError, match="bad: no page can be read; bad#0"):
        encode_data(data, ColourEncoder(), cache=tmp_path / "cache")


def test_the_builtin_encoder_reads_words_by_ocr(tmp_path):
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    pages = [written(text) for text in ("turbine", "parliament", "chocolate")]
    folder = parts(tmp_path / "words", queries=["turbine", "parliament", "chocolate"])
    saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": pages})
    (data,) = load_benchmark(str(folder))
    encoded = encode_data(data, BuiltinEncoder(), cache=tmp_path / "cache", ocr=True)
    assert evaluate(encoded, [BASE], workers=1).results.base.measures["ndcg@5"] == 1.0


# ---------------------------------------------------------------------- pages to time


def test_some_pages_are_spread_and_those_that_can_not_be_read_replaced(tmp_path):
    (data,) = load_benchmark(str(many(tmp_path / "many")))
    pages = data.pages.some_pages(4, pixels=10_000, ocr=False)
    assert [page.name for page in pages] == ["2#1", "7#1", "12#1", "17#1"]
    assert pages[0].render().size == (42, 50)
    assert len(data.pages.some_pages(50, pixels=None, ocr=False)) == 20
    broken = [{"bytes": b"nothing", "path": None}, page(RED), page(GREEN)]
    folder = parts(tmp_path / "bad")
    saved(folder / "corpus", {"corpus-id": [0, 1, 2], "image": [broken[1], broken[0], broken[2]]})
    (data,) = load_benchmark(str(folder))
    assert [page.name for page in data.pages.some_pages(1, pixels=10_000, ocr=False)] == ["0#1"]


def test_encoding_pages_of_the_hub_is_timed(tmp_path):
    (data,) = load_benchmark(str(many(tmp_path / "many")))
    study = Study(ColourEncoder(), "docpruner:k=0", tmp_path / "cache", workers=1, latency=2)
    latency = study.measure(study.encode(data)).results.latency
    assert (latency.pages, latency.spec) == (2, "docpruner:k=-0.25")
    assert min(latency.plain, latency.importance, latency.pruned) > 0


# ---------------------------------------------------------------------- names


def test_every_data_set_of_a_group_can_be_named_alone():
    assert {group: len(names) for group, names in GROUPS.items()} == {
        "vidore-v1": 10,
        "vidore-v2": 4,
        "vidore-v3": 8,
        "jinavdr": 4,
        "jinavdr-all": 43,
    }
    for names in GROUPS.values():
        assert len(set(names)) == len(names)
        assert all(named(name) == (name,) for name in names)
    assert layout_of("vidore/tatdqa_test_beir") == "parts"
    assert layout_of("jinaai/mpmqa_small_beir") == "folders"
    assert "jp" in languages_of("jinaai/airbnb-synthetic-retrieval_beir")


def test_the_names_are_those_of_mteb():
    mteb = pytest.importorskip("mteb", reason="the extra mteb is not installed")

    def paths(benchmark: str) -> set[str]:
        return {task.metadata.dataset["path"] for task in mteb.get_benchmark(benchmark).tasks}

    assert paths("JinaVDR") == set(GROUPS["jinavdr-all"])
    assert {layout_of(path) for path in GROUPS["jinavdr-all"]} == {"folders"}
    assert paths("ViDoRe(v2)") == set(GROUPS["vidore-v2"])
    first = {path.replace("mteb/", "vidore/") for path in paths("ViDoRe(v1)")}
    assert first == {f"{name}_beir" for name in GROUPS["vidore-v1"]}
    third = {path for path in paths("ViDoRe(v3)") if path.startswith("vidore/")}
    assert third == {f"{name}_mteb_format" for name in GROUPS["vidore-v3"]}


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("vidore-2", "vidore-v2"),
        ("esg_reports_v2", "vidore/esg_reports_v2"),
        ("jinaai/shanghai_masterplan", "jinaai/shanghai_master_plan"),
    ],
)
def test_a_wrong_name_is_answered_with_a_close_one(wrong, meant):
    with pytest.raises(DataError, match=rf"Did you mean {meant}\? Give one of vidore-v1, "):
        load_benchmark(wrong)


def test_every_commit_is_of_a_data_set_there_is_and_of_no_other():
    assert [name for name in REVISIONS if named(name) != (name,)] == []
    assert len(set(REVISIONS.values())) == len(REVISIONS)
    unpinned = {name for names in GROUPS.values() for name in names} - REVISIONS.keys()
    assert unpinned == set(GROUPS["vidore-v3"])


def test_without_network_and_copy_it_says_what_to_do():
    with pytest.raises(
        DataError,
        match=r"vidore/esg_reports_v2 \(qrels\) can't be loaded \(.*\); where there is a network, "
        r"run: hf download --repo-type dataset vidore/esg_reports_v2 --revision \w+; where there "
        r"is none, set",
    ):
        load_benchmark("vidore/esg_reports_v2")


def test_a_copy_made_by_hf_download_is_found_without_network(tmp_path, hf_home):
    """Files of the Hub's cache are links to blobs, whose names have no endings."""
    repository = hf_home / "hub" / "datasets--vidore--esg_reports_v2"
    commit = "0542c0d03da0ec1c8cbc517c8d78e7e95c75d3d3"
    for part in ("corpus", "queries", "qrels"):
        (repository / "snapshots" / commit / part).mkdir(parents=True)
    (repository / "blobs").mkdir()
    for number, file in enumerate(sorted(parts(tmp_path / "esg").rglob("*.parquet"))):
        blob = file.rename(repository / "blobs" / f"{number:064x}")
        (repository / "snapshots" / commit / file.parent.name / file.name).symlink_to(blob)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    (data,) = load_benchmark("vidore/esg_reports_v2")
    assert (data.name, len(data.pages.rows)) == ("vidore/esg_reports_v2", 3)
    # as with a network: what was encoded then is found, and of that commit only
    assert data.pages.key == f"{data.name}@{commit}"
    with pytest.raises(DataError, match=r"hf download --repo-type dataset .* --revision abc"):
        load_benchmark("vidore/esg_reports_v2@abc")
    with pytest.raises(DataError, match="vidore-v2 is 4 data sets; a revision is one data set's"):
        load_benchmark("vidore-v2@abc")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r'benchmarks by name needs the "eval" extra'):
        hub.load_benchmark("vidore-v2")


# ---------------------------------------------------------------------- what is wrong with a copy


@pytest.mark.parametrize(
    ("part", "values", "message"),
    [
        ("corpus", {"id": [0]}, "esg, corpus: there is no column corpus-id or corpus_id, only id"),
        ("corpus", {"corpus-id": [0]}, "esg, corpus: there is no column image, only corpus-id"),
        ("corpus", {"corpus-id": [7, 7]}, "esg, corpus: the id 7 is used twice"),
        ("queries", {"query-id": [0]}, "esg, queries: there is no column query, only query-id"),
        ("queries", {"query-id": [0, None], "query": ["a", "b"]}, "is empty in row 2"),
        ("queries", {"query-id": ["x"], "query": ["red"]}, "no query has an answer among its"),
        ("qrels", {"query-id": [0], "corpus-id": [0]}, "esg, qrels: there is no column score"),
        (
            "qrels",
            {"query-id": [0], "corpus-id": [0], "score": ["high"]},
            "esg, qrels: column score holds 'high', which is not a number",
        ),
    ],
)
def test_a_wrong_table_is_named_with_its_column(tmp_path, part, values, message):
    folder = parts(tmp_path / "esg")
    saved(folder / part, values)
    with pytest.raises(DataError, match=message):
        load_benchmark(str(folder))


def test_a_column_of_numbers_is_no_picture(tmp_path):
    folder = parts(tmp_path / "esg")
    datasets.Dataset.from_dict({"corpus-id": [0], "image": [1.5]}).to_parquet(
        str(folder / "corpus" / "test-00000-of-00001.parquet")
    )
    with pytest.raises(DataError, match="esg, corpus: column image does not hold pictures"):
        load_benchmark(str(folder))


def test_a_flat_table_without_names_of_pages_is_refused(tmp_path):
    saved(tmp_path / "v1", {"query": ["red"], "image": [page(RED)]})
    with pytest.raises(DataError, match="v1: there is no column image_filename, only query, image"):
        load_benchmark(str(tmp_path / "v1"))


def test_a_copy_that_lacks_a_table_or_the_split(tmp_path):
    folder = parts(tmp_path / "esg")
    (folder / "qrels" / "test-00000-of-00001.parquet").rename(folder / "qrels" / "train.parquet")
    with pytest.raises(DataError, match=r"esg \(qrels\) can't be loaded .*is the copy complete"):
        load_benchmark(str(folder))


def test_a_folder_with_nothing_in_it_is_no_data_set(tmp_path):
    with pytest.raises(DataError, match="holds no data set; it needs parquet files"):
        load_benchmark(str(tmp_path))
