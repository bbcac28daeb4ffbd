"""A set of shards is read as the one index that they would be."""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_process import docpruner, write_pdf
from docpruner.codecs import CodecName
from docpruner.errors import (
    IndexClosedError,
    IndexStateError,
    MissingShardsError,
    MissingShardsWarning,
)
from docpruner.facade import Index
from docpruner.stores.contract import Reader, Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.records import DocumentPages, PageName
from docpruner.stores.settings import Settings
from docpruner.types import Filter
from faults.words import WordEncoder
from stores.made import (
    X,
    Y,
    Z,
    commit,
    content_of,
    document,
    documents_of,
    found,
    made_page,
    said,
    settings_of,
    stats_of,
    unit_vectors,
)

DIM = 16
QUERIES = [unit_vectors(n, DIM, seed=90 + n) for n in (1, 4, 7)]
FILTERS = [
    Filter(),
    Filter(documents=("2023/*",)),
    Filter(documents=("*/report-1.pdf",), pages=(2, 3)),
    Filter(metadata={"year": 2024}),
    Filter(pages=(4, None)),
    Filter(documents=("nothing",)),
]


def library(codec: CodecName = "int4") -> list[DocumentPages]:
    """Twenty documents of some pages; three are copies of others, so that scores are equal."""
    spec = "attention-ratio:ratio=0.5"
    made = []
    for n in range(20):
        year, origin = 2023 + n % 2, n - 10 if n in (12, 15, 17) else n
        pages = [
            made_page(
                number,
                unit_vectors(5 + (origin + number) % 7, DIM, seed=100 * origin + number),
                codec=codec,
                spec=spec,
                content_hash=f"{origin} {number}".encode(),
                text=f"quay {'tide ' * (n % 3)} berth{number}",
            )
            for number in range(1, 2 + n % 5)
        ]
        name = f"{year}/report-{n}.pdf"
        made.append(document(name, pages, version=name, metadata={"year": year}))
    return made


def settings(codec: CodecName = "int4") -> Settings:
    return settings_of(dim=DIM, codec=codec, spec="attention-ratio:ratio=0.5")


def made_index(location: str | Path, documents: Sequence[DocumentPages], own: Settings) -> str:
    with create_store(location, own) as store:
        commit(store, *documents)
    return str(location)


def made_set(
    folder: Path,
    *shards: Sequence[DocumentPages],
    own: Settings | None = None,
) -> str:
    """The location of a set, whose shards are folders beside its list."""
    names = [f"shard {n}.idx" for n in range(len(shards))]
    for name, documents in zip(names, shards, strict=True):
        made_index(folder / name, documents, own or settings())
    return listed(folder, names)


def listed(folder: Path, shards: Sequence[str | dict[str, str]]) -> str:
    entries = [
        json.dumps(each)
        if isinstance(each, str)
        else "{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in each.items()) + " }"
        for each in shards
    ]
    (folder / "archive.toml").write_text(f"shards = [{', '.join(entries)}]\n")
    return f"shards://{folder}/archive.toml"


def spread(documents: Sequence[DocumentPages], seed: int = 0) -> list[list[DocumentPages]]:
    """Over three shards, of which one has a single document, and none has them in order."""
    order = random.Random(seed).sample(list(documents), len(documents))
    return [order[:1], order[1:8], order[8:]]


@pytest.fixture(scope="module", params=["int4", "int8", "float32"])
def both(request, tmp_path_factory):
    """One index with all documents, and the same documents in three shards."""
    folder = tmp_path_factory.mktemp("both")
    documents, own = library(request.param), settings(request.param)
    one = made_index(folder / "one.idx", documents, own)
    with (
        open_store(one) as whole,
        open_store(made_set(folder, *spread(documents), own=own)) as set_,
    ):
        yield whole, set_


# ---------------------------------------------------------------------- the same as one index


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
@pytest.mark.parametrize("which", FILTERS)
def test_rankings_are_those_of_one_index_scores_and_ties_included(both, which, k):
    def ranked(store: Store):
        with store.reader() as reader:
            return reader.rank(QUERIES, k, which)

    one, several = map(ranked, both)
    assert several == one


def test_there_are_ties_and_they_stand_by_document_and_number(both):
    with both[1].reader() as reader:
        (ranked,) = reader.rank(QUERIES[:1], 1000, Filter())
    order = [(-page.score, page.document, page.number) for page in ranked]
    assert order == sorted(order)
    assert len({page.score for page in ranked}) < len(ranked)


def test_candidates_are_ranked_in_the_shards_that_have_them(both):
    def ranked(reader: Reader):
        names = sorted(reader.pages())
        among = [names[::3], [], [names[5], PageName("nowhere.pdf", 1)]]
        return reader.rank(QUERIES, 7, Filter(pages=(1, 2)), among)

    with both[0].reader() as one, both[1].reader() as several:
        expected = ranked(one)
        assert ranked(several) == expected
        assert (len(expected[0]) > 3, expected[1]) == (True, [])


def test_documents_and_pages_are_those_of_one_index(both):
    with both[0].reader() as one, both[1].reader() as several:
        assert several.documents() == one.documents()
        assert several.names() == one.names()
        assert sorted(several.pages()) == sorted(one.pages())
        for name in one.names():
            assert several.document(name) == one.document(name)
            assert several.known(name, content_of(name)) == one.known(name, content_of(name))
            assert several.documents_like(content_of(name)) == [name]
            kept, there = one.page(name, 1), several.page(name, 1)
            assert kept.fingerprint == there.fingerprint
            assert (kept.text, kept.size, kept.number) == (there.text, there.size, there.number)
        assert several.document("nowhere.pdf") is several.page("nowhere.pdf", 1) is None
        assert several.known("nowhere.pdf", b"") is several.page_like(b"none") is None
        assert several.page(one.names()[0], 99) is None
        assert several.page_like(b"19 5").document == "2024/report-19.pdf"
        assert several.settings == one.settings


def test_figures_add_up_to_those_of_one_index(both):
    one, several = map(stats_of, both)
    estimated, exact = several.pruned_by_page, one.pruned_by_page
    assert estimated.keys() == exact.keys()
    assert (estimated["0"], estimated["1"]) == (exact["0"], exact["1"])
    assert estimated == pytest.approx(exact, abs=0.03)
    taken = ("bytes_on_disk", "bytes_besides", "bytes_empty", "bytes_of_text", "bytes_reclaimable")
    others = dict.fromkeys(taken, 0) | {"pruned_by_page": {}}
    assert replace(several, **others) == replace(one, **others, pruned=several.pruned)
    assert several.pruned == pytest.approx(one.pruned)
    assert several.bytes_on_disk > one.bytes_on_disk > 0


def test_sets_of_empty_shards_are_empty(tmp_path):
    with open_store(made_set(tmp_path, [], [])) as store:
        assert found(store, unit_vectors(1, DIM)) == documents_of(store) == []
        assert (stats_of(store).pages, stats_of(store).pruned_by_page) == (0, {})
        with store.reader() as reader:
            assert reader.rank([], 3, Filter()) == []
            assert reader.rank(QUERIES, 3, Filter()) == [[], [], []]


def test_hits_have_their_words_metadata_and_matches(tmp_path):
    encoder = WordEncoder()
    for shard, text in (("a", "tide and quay"), ("b", "harbour pilot")):
        with Index.create(tmp_path / f"{shard}.idx", encoder=encoder) as index:
            pdf = write_pdf(tmp_path / f"{shard}.pdf", text)
            index.add(pdf, metadata={"shard": shard})
    with Index.open(listed(tmp_path, ["a.idx", "b.idx"]), encoder=encoder) as index:
        best, other = index.search("harbour pilot")
        assert (best.document, best.metadata) == (str(tmp_path / "b.pdf"), {"shard": "b"})
        assert [match.word for match in best.matches] == ["harbour", "pilot"]
        assert best.score > other.score
        assert best.text == "harbour pilot"
        assert index.is_up_to_date(best.document)
        assert len(index) == 2


# ---------------------------------------------------------------------- text


def test_searches_by_text_find_what_one_index_finds(both):
    assert sorted(said(both[1], "tide", k=1000)) == sorted(said(both[0], "tide", k=1000))
    assert said(both[1], "nothing") == []
    assert len(said(both[1], "quay berth4", k=3)) == 3


def test_shards_of_several_kinds_take_turns_in_a_search_by_text(tmp_path):
    made_index(tmp_path / "a.idx", [document("a.pdf", spoken("tide quay", "tide"))], settings_of())
    memory = made_index(f"memory://{tmp_path}", [document("b.pdf", spoken("tide"))], settings_of())
    with open_store(listed(tmp_path, ["a.idx", memory])) as store:
        assert said(store, "tide quay") == ["a.pdf#1", "b.pdf#1", "a.pdf#2"]


def spoken(*texts: str):
    return [made_page(number, [X], text=text) for number, text in enumerate(texts, 1)]


# ---------------------------------------------------------------------- moments


def test_a_reader_keeps_the_moment_of_every_shard_and_the_next_one_sees_what_was_written(tmp_path):
    location = made_set(
        tmp_path, [document("a.pdf", [[X]])], [document("b.pdf", [[Y]])], own=settings_of()
    )
    with open_store(location) as store:
        with store.reader() as reader:
            before = reader.version
            with open_store(tmp_path / "shard 1.idx") as shard:
                commit(shard, document("c.pdf", [[X]]))
            assert [page.document for page in reader.rank([[X]], 9, Filter())[0]] == [
                "a.pdf", "b.pdf",
            ]  # fmt: skip
            assert reader.names() == ["a.pdf", "b.pdf"]
        with store.reader() as reader:
            assert reader.version != before
            assert reader.names() == ["a.pdf", "b.pdf", "c.pdf"]
            after = reader.version
        with store.reader() as reader:
            assert reader.version == after
        assert found(store) == [("a.pdf#1", 1.0), ("c.pdf#1", 1.0), ("b.pdf#1", 0.0)]


def test_a_document_that_comes_into_a_second_shard_is_refused_and_named(tmp_path):
    location = made_set(
        tmp_path, [document("a.pdf", [[X]])], [document("b.pdf", [[Y]])], own=settings_of()
    )
    with open_store(location) as store:
        with open_store(tmp_path / "shard 1.idx") as shard:
            commit(shard, document("a.pdf", [[Z]]))
        with pytest.raises(IndexStateError, match=r"a\.pdf is in two shards, .*shard 0.*shard 1"):
            found(store)
        with open_store(tmp_path / "shard 1.idx") as shard, shard.writer() as writer:
            writer.delete(["a.pdf"])
        assert found(store) == [("a.pdf#1", 1.0), ("b.pdf#1", 0.0)]
    with open_store(tmp_path / "shard 1.idx") as shard:
        commit(shard, document("a.pdf", [[Z]]))
    with pytest.raises(IndexStateError, match="docpruner delete"):
        open_store(location)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Settings.new("another", DIM, "none"), "has encoder made, .* has another; make them with"),
        (Settings.new("made", 8, "none"), "has dim 16, .* has 8; make them with one encoder"),
        (Settings.new("made", DIM, "docpruner:k=0"), "has spec none, .*docpruner prune gives"),
        (Settings.new("made", DIM, "none", "int4"), "has codec int8, .* has int4; docpruner prune"),
        (Settings.new("made", DIM, "none", root="/a"), "below different roots: .* below none"),
    ],
)
def test_shards_that_were_not_made_alike_are_refused(tmp_path, other, message):
    made_index(tmp_path / "a.idx", [], Settings.new("made", DIM, "none"))
    made_index(tmp_path / "b.idx", [], other)
    with pytest.raises(IndexStateError, match=message):
        open_store(listed(tmp_path, ["a.idx", "b.idx"]))


def test_one_root_whose_shards_lie_elsewhere_is_one(tmp_path):
    files = tmp_path / "files"
    write_pdf(files / "a.pdf", "tide")
    write_pdf(files / "b.pdf", "quay")
    for shard in "ab":
        with Index.create(tmp_path / shard / "x.idx", encoder=WordEncoder(), root=files) as index:
            index.add(files / f"{shard}.pdf")
    location = listed(tmp_path, ["a/x.idx", "b/x.idx"])
    with Index.open(location, encoder=WordEncoder()) as index:
        assert [entry.name for entry in index.documents()] == ["a.pdf", "b.pdf"]
        assert index.file_of("b.pdf") == str(files / "b.pdf")
        assert index.is_up_to_date("b.pdf")


def test_changes_are_refused_and_the_shards_are_named(tmp_path):
    location = made_set(tmp_path, [document("a.pdf", [[X]])], [], own=settings_of())
    with Index(open_store(location)) as index:
        for change in (
            lambda: index.delete("a.pdf"),
            lambda: index.update_metadata("a.pdf", {"n": 1}),
            lambda: index.prune("docpruner:k=1"),
            index.compact,
            index.verify,
        ):
            with pytest.raises(
                IndexStateError,
                match=r"set of shards, to be read only; .*shard 0\.idx, .*shard 1\.idx",
            ):
                change()
        assert len(index) == 1
    with pytest.raises(IndexStateError, match="make each shard by itself"):
        create_store("shards:///new.toml", settings_of())
    with pytest.raises(IndexStateError, match="already holds an index"):
        create_store(location, settings_of())


def test_a_closed_set_says_so(tmp_path):
    store = open_store(made_set(tmp_path, []))
    store.close()
    store.close()
    with pytest.raises(IndexClosedError, match="is closed; open it again"), store.reader():
        pass


# ---------------------------------------------------------------------- shards that are missing


@pytest.fixture
def torn(tmp_path):
    """A set of which a shard goes away."""
    location = made_set(
        tmp_path, [document("a.pdf", [[X]])], [document("b.pdf", [[Y]])], own=settings_of()
    )
    return location, tmp_path / "shard 1.idx"


def test_a_set_without_one_of_its_shards_fails_and_names_it(torn):
    location, shard = torn
    shutil.rmtree(shard)
    with pytest.raises(
        MissingShardsError, match=r"1 of 2 shards .* missing: .*shard 1\.idx \("
    ) as raised:
        open_store(location)
    assert list(raised.value.shards) == [str(shard)]
    assert "holds no index" in raised.value.shards[str(shard)]
    assert "?partial=1" in str(raised.value)


def test_where_it_was_chosen_the_others_answer_and_every_answer_says_so(torn, tmp_path):
    location, shard = torn
    shard.rename(tmp_path / "away")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")  # which shows a warning once for each place
        with Index(open_store(f"{location}?partial=1")) as index:
            told.clear()
            for _ in range(3):
                assert [hit.document for hit in index.search(vectors=[X])] == ["a.pdf"]
            assert [(each.category, str(shard) in str(each.message)) for each in told] == [
                (MissingShardsWarning, True)
            ] * 3
            assert index.missing_shards() == [str(shard)]
            (tmp_path / "away").rename(shard)
            assert [hit.document for hit in index.search(vectors=[Y])] == ["b.pdf", "a.pdf"]
            assert len(told) == 3
            assert index.missing_shards() == []


def test_a_set_without_any_of_its_shards_fails_in_any_case(tmp_path):
    location = listed(tmp_path, ["a.idx", "b.idx"])
    with pytest.raises(MissingShardsError, match="2 of 2 shards"):
        open_store(f"{location}?partial=1")


# ---------------------------------------------------------------------- locations


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("shards = []", "lists no shards; write for example"),
        ("other = 1", "lists no shards"),
        ("shards = [", "can't be read"),
        ("shards = [1]", "1 is no shard; give its location, or"),
        ('shards = [{ node = "10.0.0.1" }]', "is no shard"),
        ('shards = [{ location = "a", other = "b" }]', "is no shard"),
        ('shards = ["a.idx", "./a.idx"]', r"a\.idx twice"),
        ('shards = ["shards:///other.toml"]', "is a set of shards itself"),
    ],
)
def test_a_list_that_says_nothing_usable_is_an_error(tmp_path, content, message):
    (tmp_path / "archive.toml").write_text(content)
    with pytest.raises(IndexStateError, match=message):
        open_store(f"shards://{tmp_path}/archive.toml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("?partial=yes", "partial=yes is neither 0 nor 1"),
        ("?timeout=0", "timeout=0 is no number of seconds"),
        ("?timeout=nan", "timeout=nan is no number"),
        ("?parts=1", "there is no option parts; there are partial=1 and timeout=SECONDS"),
    ],
)
def test_options_that_there_are_not_are_errors(tmp_path, options, message):
    with pytest.raises(IndexStateError, match=message):
        open_store(made_set(tmp_path, []) + options)


@pytest.mark.parametrize("scheme", ["shards", "ray"])
def test_a_list_that_is_not_there_says_how_to_make_one(tmp_path, scheme):
    location = f"{scheme}://{tmp_path}/archive.toml"
    assert not store_exists(location)
    with pytest.raises(IndexStateError, match="holds no index; make one by listing"):
        open_store(location)
    with pytest.raises(IndexStateError, match="names no file that lists the shards"):
        open_store(f"{scheme}://")
    listed(tmp_path, ["a.idx"])
    assert store_exists(location)


# ---------------------------------------------------------------------- commands


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    for year, text in ((2023, "the tide at the quay"), (2024, "revenue of the harbour")):
        files = folder / str(year)
        write_pdf(files / "report.pdf", text, "an appendix")
        done = docpruner("index", str(folder / f"{year}.idx"), str(files), "--json")
        assert done.returncode == 0, done.stderr
    listed(folder, ["2023.idx", "2024.idx"])
    return folder


def test_the_reading_commands_work_on_a_set(archive):
    where = f"shards://{archive}/archive.toml"
    hits = json.loads(docpruner("search", where, "revenue", "--json", "-k", "3").stdout)["hits"]
    assert hits[0]["document"] == str(archive / "2024" / "report.pdf")
    assert len(hits) == 3
    documents = json.loads(docpruner("list", where, "--json").stdout)
    assert [each["document"] for each in documents] == [
        str(archive / year / "report.pdf") for year in ("2023", "2024")
    ]
    stats = json.loads(docpruner("stats", where, "--json").stdout)
    assert (stats["documents"], stats["pages"]) == (2, 4)
    picture = archive / "hit.png"
    explained = docpruner("explain", where, "--hit", "revenue", "-o", str(picture))
    assert explained.returncode == 0, explained.stderr
    assert picture.stat().st_size > 1000
    refused = docpruner("index", where, str(archive / "2023"))
    assert refused.returncode == 1
    assert f"{archive}/2023.idx" in refused.stderr


def test_a_partial_answer_of_the_command_names_what_is_missing(archive):
    listed(archive, ["2023.idx", "2024.idx", "2025.idx"])
    where = f"shards://{archive}/archive.toml"
    failed = docpruner("search", where, "revenue", "--json")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert f"1 of 3 shards of {where} are missing: {archive}/2025.idx" in failed.stderr
    partial = docpruner("search", f"{where}?partial=1", "revenue", "--json")
    assert partial.returncode == 0
    answer = json.loads(partial.stdout)
    assert answer["missing_shards"] == [f"{archive}/2025.idx"]
    assert len(answer["hits"]) == 4
    assert f"{archive}/2025.idx" in partial.stderr
    assert np.isfinite([hit["score"] for hit in answer["hits"]]).all()
