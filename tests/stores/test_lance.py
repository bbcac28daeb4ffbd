"""The store in Lance, beyond the contract: several writers, kills, versions, damage, S3."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from cli_process import docpruner
from docpruner.codecs import CODEC_NAMES
from docpruner.errors import DamagedIndexError, DocPrunerError, IndexStateError
from docpruner.facade import Index
from docpruner.stores.lance_store import lance_store, lance_upkeep
from docpruner.stores.lance_store.lance_errors import ConflictError
from docpruner.stores.lance_store.lance_rows import document_table
from docpruner.stores.lance_store.lance_scoring import RowCache
from docpruner.stores.locations import create_store, open_store
from docpruner.types import Filter
from stores import lance_jobs
from stores.made import (
    X,
    Y,
    Z,
    commit,
    document,
    documents_of,
    found,
    known,
    made_page,
    page_of,
    settings_of,
    stats_of,
    unit_vectors,
)
from stores.s3_server import s3_server

KILLS = max(3, int(os.environ.get("DOCPRUNER_KILLS", "30")) // 10)
FLIPS = max(40, int(os.environ.get("DOCPRUNER_FUZZ", "0")) // 10)
TESTS = Path(__file__).parent.parent
SAMPLES = TESTS.parent / "src" / "docpruner" / "samples"


@pytest.fixture(params=["folder", "s3"])
def place(request, tmp_path, monkeypatch) -> str:
    if request.param == "folder":
        return f"lance://{tmp_path}/index"
    for name, value in request.getfixturevalue("s3").environment.items():
        monkeypatch.setenv(name, value)
    return f"lance+s3://indexes{tmp_path}/index"


@pytest.fixture
def store(tmp_path):
    with create_store(f"lance://{tmp_path}/index", settings_of()) as made:
        yield made


@contextmanager
def writing(location: str, who: str, count: int):
    """A process of `lance_jobs`."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "stores.lance_jobs", location, who, str(count)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# ---------------------------------------------------------------------- several writers


def test_three_processes_that_write_at_once_lose_nothing(place):
    with (
        create_store(place, settings_of()) as store,
        writing(place, "a", 7) as one,
        writing(place, "b", 7) as two,
        writing(place, "c", 7) as three,
    ):
        for process in (one, two, three):
            said, errors = process.communicate(timeout=120)
            assert said.splitlines()[-1:] == ["done"], errors
        for who in "abc":
            lance_jobs.check(store, who, 7)
        assert len(documents_of(store)) == 3 * 5  # of seven, two replace others
        assert stats_of(store).pages == 3 * 5 * 3
        assert store.verify() == []


def test_writers_that_change_one_document_leave_one_whole_version(store):
    def write(number: int) -> None:
        version = f"{number % 4}"
        with open_store(store.location) as own:
            pages = [made_page(n, [X, Y], content_hash=version.encode()) for n in (1, 2, 3)]
            commit(own, document("a.pdf", pages[:2], of=3, version=version, finished=False))
            commit(own, document("a.pdf", pages, version=version))
            commit(own, document(f"{number}.pdf", [[Z]]))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(12)))
    with store.reader() as reader:
        assert sorted(page for page in reader.pages() if page.document == "a.pdf") == [
            ("a.pdf", 1), ("a.pdf", 2), ("a.pdf", 3),
        ]  # fmt: skip
    versions = {page_of(store, "a.pdf", number).content_hash for number in (1, 2, 3)}
    assert len(versions) == 1
    assert len(documents_of(store)) == 13
    assert known(store, "a.pdf", versions.pop().decode()).whole


def test_what_is_added_while_all_is_rewritten_is_rewritten_too(store):
    commit(store, document("a.pdf", [[X, Y], [Z, Y]]))

    def first_only(page):
        if page.document == "a.pdf":
            with open_store(store.location) as other:
                commit(other, document(f"b{page.number}.pdf", [[Y, Z]]))
        kept = made_page(page.number, page.vectors.decode()[:1])
        return replace(page, vectors=kept.vectors, provenance=kept.provenance)

    with store.writer() as writer:
        writer.rewrite(first_only, replace(writer.settings, spec="random:ratio=0.5"))
    assert stats_of(store).vectors == stats_of(store).pages == 4
    assert found(store, Y) == [
        ("b1.pdf#1", 1.0), ("b2.pdf#1", 1.0), ("a.pdf#1", 0.0), ("a.pdf#2", 0.0),
    ]  # fmt: skip


def test_a_writer_whose_index_was_pruned_by_another_says_so_and_writes_nothing(store):
    with store.writer() as writer, open_store(store.location) as other:
        with other.writer() as pruning:
            settings = replace(pruning.settings, spec="random:ratio=0.5")
            pruning.rewrite(lambda page: page, settings)
        with pytest.raises(IndexStateError, match=r"was given random:ratio=0\.5 in float32 by"):
            writer.commit([document("a.pdf", [[X]])])
    assert documents_of(store) == []


def test_of_two_changes_of_one_state_only_one_goes_through(store):
    """Whatever they are: all the rest stands on it."""
    commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))

    def budget(state):  # noqa: ARG001
        with store.writer() as writer:
            writer.set_budget(f"{random.randint(1, 10**9)}B")

    def late(state):
        new = state.table.write(document_table([]))
        pages = state.of_pages[0]
        changes = (
            lambda: state.table.commit(state.head, new, {}, ()),
            lambda: state.table.commit(state.head, new, {pages.fragment.id: [0]}, ()),
            lambda: state.table.commit(state.head, new, {}, [state.head.id]),
        )
        for change in changes:
            with pytest.raises(ConflictError):
                change()

    def adding(state):
        commit(store, document(f"{state.version}.pdf", [[X]]))

    def merging(state):  # noqa: ARG001
        store.compact()

    for first in (budget, adding, merging):
        state = store.listing()
        first(state)
        late(state)
    assert len(documents_of(store)) == 3


# ---------------------------------------------------------------------- kills


def test_no_kill_loses_what_was_committed(place, record_property):
    dice, told = random.Random(7), 0
    with create_store(place, settings_of()) as store:
        for kill in range(KILLS):
            who = f"k{kill}"
            with writing(place, who, 1000) as process:
                steps = dice.randint(1, 4)
                for _ in range(steps):
                    assert process.stdout.readline().startswith("committed "), process.stderr.read()
                time.sleep(dice.uniform(0, 0.06))
                process.kill()
                said, _ = process.communicate()
            steps += len(said.splitlines())
            told += steps
            assert store.verify() == []
            lance_jobs.check(store, who, steps)
            lance_jobs.write(store, who, steps)  # goes on where it was
            lance_jobs.check(store, who, steps + 1)
    record_property("tried", f"{KILLS} kills after {told} documents; nothing committed was lost")


# ---------------------------------------------------------------------- the same as in a folder


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_rows_and_rankings_are_those_of_a_folder_bit_for_bit(tmp_path, codec):
    """Also after pages were replaced and deleted, and files merged."""
    settings = settings_of(dim=128, codec=codec)
    dice = np.random.default_rng(0)
    queries = [unit_vectors(count, 128, seed=count) for count in (3, 20)]
    which = Filter(documents=("1*", "4*"), pages=(2, 6))
    with (
        create_store(tmp_path / "folder", settings) as folder,
        create_store(f"lance://{tmp_path}/lance", settings) as lance,
    ):
        for n in range(12):
            counts = dice.integers(1, 40, size=8)
            pages = [
                made_page(k, unit_vectors(count, 128, seed=100 * n + k), codec=codec)
                for k, count in enumerate(counts, 1)
            ]
            for store in (folder, lance):
                commit(store, document(f"{n % 10}.pdf", pages, version=f"{n}"))
        for store in (folder, lance):
            with store.writer() as writer:
                writer.delete(["7.pdf"])
        for _ in ("before", "after"):
            with folder.reader() as one, lance.reader() as other:
                assert sorted(one.pages()) == sorted(other.pages())
                for name in one.pages()[::7]:
                    mine, theirs = one.page(*name), other.page(*name)
                    assert mine.vectors.rows.tobytes() == theirs.vectors.rows.tobytes()
                    assert mine.fingerprint == theirs.fingerprint
                for some in (Filter(), which):
                    assert one.rank(queries, 30, some) == other.rank(queries, 30, some)
            lance.compact()


def test_a_search_is_the_same_from_memory_and_from_the_disk_and_reads_once(store):
    pages = [[made_page(n, unit_vectors(5, 4, seed=n)) for n in range(k, k + 9)] for k in (1, 10)]
    commit(store, document("a.pdf", pages[0], of=18, finished=False))
    commit(store, document("a.pdf", pages[1], of=18))
    query = [unit_vectors(4, 4, seed=99)]
    with store.reader() as reader:
        first = reader.rank(query, 18, Filter())
        dataset = store.listing().table._dataset
        dataset.io_stats_incremental()
        assert reader.rank(query, 18, Filter()) == first
        assert dataset.io_stats_incremental().read_bytes == 0
        reader._cache = RowCache(0)
        assert reader.rank(query, 18, Filter()) == first
        assert dataset.io_stats_incremental().read_bytes > 18 * 5 * 16
        few = reader.rank(query, 18, Filter(pages=(4, 5)))
    assert few[0] == [page for page in first[0] if page.number in (4, 5)]


def test_a_name_that_is_no_unicode_and_odd_metadata_come_back(store):
    name = "caf\udce9/☃ \n'\".pdf"
    commit(store, document(name, [[X]], metadata={"a'b": ["x", 1, None]}))
    assert [(each.name, each.metadata) for each in documents_of(store)] == [
        (name, {"a'b": ["x", 1, None]})
    ]
    assert page_of(store, name, 1).document == name


# ---------------------------------------------------------------------- versions


def test_an_index_is_opened_as_it_was(place):
    with create_store(place, settings_of()) as store:
        commit(store, document("a.pdf", [[X]]))
        commit(store, document("a.pdf", [[Y]], version="second"), document("b.pdf", [[X]]))
        with store.writer() as writer:
            writer.delete(["a.pdf"])
    with Index.open(place) as index:
        versions = index.versions()
        assert [each.number for each in versions] == [1, 2, 3, 4]
        assert versions == sorted(versions, key=lambda each: each.time)
        assert [entry.name for entry in index.documents()] == ["b.pdf"]
    with Index.open(place, version=2) as old:
        assert old.page("a.pdf", 1).vectors.decode().tolist() == [X.tolist()]
        assert [hit.document for hit in old.search(vectors=[X])] == ["a.pdf"]
        with pytest.raises(IndexStateError, match=r"as it was at version 2, which can't be chang"):
            old.delete("a.pdf")
    with Index.open(place, version=1) as empty:
        assert len(empty) == 0
    with pytest.raises(IndexStateError, match="has no version 9; it has 1, 2, 3, 4"):
        Index.open(place, version=9)


def test_a_store_without_versions_says_so(tmp_path):
    create_store(tmp_path / "index", settings_of()).close()
    with pytest.raises(IndexStateError, match="keeps no older versions; open it without one"):
        Index.open(tmp_path / "index", version=1)
    with Index.open(tmp_path / "index") as index:
        assert index.versions() == []


# ---------------------------------------------------------------------- upkeep


def test_compaction_merges_files_and_gives_room_back_when_nobody_reads_it(store, monkeypatch):
    for n in range(12):
        commit(store, document(f"{n}.pdf", [made_page(1, unit_vectors(50, 4, seed=n))]))
    with store.writer() as writer:
        writer.delete([f"{n}.pdf" for n in range(6)])
    before, ranking = stats_of(store), found(store, k=20)
    told = []
    with store.reader() as reader:
        store.compact(progress=lambda done, of: told.append((done, of)))
        assert len(store.listing().table.fragments) == 3  # settings, documents, pages
        (best,) = reader.rank([np.float32([X])], 20, Filter())  # of files that were merged
        assert [(f"{page.document}#1", page.score) for page in best] == ranking
    assert told[-1][0] == told[-1][1]
    monkeypatch.setattr(lance_store, "KEPT", timedelta(microseconds=1))
    store.compact()
    after = stats_of(store)
    assert after.bytes_on_disk < before.bytes_on_disk / 2
    assert after.bytes_reclaimable < before.bytes_reclaimable
    assert (after.pages, after.vectors) == (before.pages, before.vectors) == (6, 300)
    assert found(store, k=20) == ranking
    assert len(store.versions()) == 1
    assert store.verify() == []


def test_a_tagged_version_stays(store, monkeypatch):
    commit(store, document("a.pdf", [[X]]))
    store.listing().table._dataset.tags.create("first", 2)
    commit(store, document("b.pdf", [[Y]]))
    monkeypatch.setattr(lance_store, "KEPT", timedelta(microseconds=1))
    store.compact()
    assert found(store.at(2)) == [("a.pdf#1", 1.0)]


def test_small_files_are_merged_while_pages_are_added(store, monkeypatch):
    monkeypatch.setattr(lance_upkeep, "MANY", 5)
    for n in range(23):
        commit(store, document(f"{n:02}.pdf", [made_page(1, [X], text=f"word{n}")]))
    assert len(store.listing().of_pages) < 5
    assert len(store.listing().of_documents) < 5
    assert found(store, k=30) == [(f"{n:02}.pdf#1", 1.0) for n in range(23)]
    assert texts_found(store, "word21") == ["21.pdf"]


def texts_found(store, query: str) -> list[str]:
    with store.reader() as reader:
        return [page.document for page in reader.rank_text(query, 10, Filter())]


def test_words_are_found_in_an_index_of_them_and_beside_it(store, monkeypatch):
    monkeypatch.setattr(lance_store, "WORTH_AN_INDEX", 1)

    def add(name: str, text: str, version: str = "first") -> None:
        commit(store, document(name, [made_page(1, [X], text=text)], version=version))

    add("a.pdf", "The Harbour")
    add("b.pdf", "harbour tides")
    store.compact()
    assert stats_of(store).bytes_besides > 1000
    assert sorted(texts_found(store, "HARBOUR")) == ["a.pdf", "b.pdf"]
    assert texts_found(store, "the") == ["a.pdf"]
    add("c.pdf", "harbour crane")
    add("b.pdf", "nothing", version="second")
    with store.writer() as writer:
        writer.delete(["a.pdf"])
    assert texts_found(store, "harbour") == ["c.pdf"]
    store.compact()
    assert texts_found(store, "harbour") == ["c.pdf"]
    assert texts_found(store, "nothing") == ["b.pdf"]
    assert texts_found(store, "tides") == []


# ---------------------------------------------------------------------- damage


def damaged_by(path: Path, old: bytes, new: bytes) -> None:
    """Wherever it stands in the files of the table."""
    files = [file for file in path.rglob("*.lance") if old in file.read_bytes()]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes().replace(old, new))


def test_damaged_pages_are_found_and_taken_out(store, tmp_path):
    pages = {n: unit_vectors(30, 4, seed=n) for n in range(1, 6)}
    commit(store, document("a.pdf", [made_page(n, v) for n, v in pages.items()]))
    for number in (2, 5):
        some = pages[number].tobytes()[16:64]
        damaged_by(tmp_path / "index", some, bytes(byte ^ 1 for byte in some))
    with open_store(store.location) as again:
        for isolate in (False, True):
            damages = again.verify(isolate=isolate)
            assert [(each.document, each.page) for each in damages] == [("a.pdf", 2), ("a.pdf", 5)]
            assert {each.reason for each in damages} == {"its bytes have changed"}
        assert again.verify() == []
        assert known(again, "a.pdf").there == {1, 3, 4}
        assert len(found(again)) == 3


def test_a_document_whose_entry_has_changed_is_taken_out_and_an_unfinished_version_stays(
    store, tmp_path
):
    commit(store, document("a.pdf", [[X]], metadata={"year": 1234567}))
    commit(store, document("b.pdf", [[Y]]))
    new = document("a.pdf", [[Z]], of=2, version="second", finished=False, metadata={})
    commit(store, new)
    damaged_by(tmp_path / "index", b"1234567", b"1234568")
    with open_store(store.location) as again:
        (damage,) = again.verify()
        assert damage.reason == "the entry of its document has changed"
        assert again.verify() == []
        assert found(again, Z) == [("a.pdf#1", 1.0), ("b.pdf#1", 0.0)]


def test_no_flipped_bit_does_worse_than_an_error(tmp_path, record_property):
    """In any file of the table: an answer, or an error of ours; no crash, nothing that hangs."""
    dice, told = random.Random(3), Counter()
    for _ in range(FLIPS):
        index = tmp_path / "index"
        shutil.rmtree(index, ignore_errors=True)
        with create_store(f"lance://{index}", settings_of()) as store:
            pages = [made_page(n, unit_vectors(99, 4, seed=n), text="a b") for n in range(1, 5)]
            commit(store, document("a.pdf", pages))
        files = sorted(index.rglob("*.*"), key=lambda path: path.stat().st_size)  # names are random
        file = dice.choice([files[-1], dice.choice([each for each in files if each.is_file()])])
        content = bytearray(file.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        file.write_bytes(content)
        try:
            with open_store(f"lance://{index}") as store:
                damages = store.verify()
                assert store.verify() == []
                assert len(found(store)) + len(damages) <= 4
                told["damage" if damages else "none"] += 1
        except DocPrunerError as error:
            told[type(error).__name__] += 1
    assert told["damage"]
    record_property("tried", f"{FLIPS} flipped bits: {dict(told)}")


def test_numbers_that_are_none_are_damage_and_not_a_ranking(store, tmp_path):
    vectors = unit_vectors(30, 4)
    commit(store, document("a.pdf", [made_page(1, vectors)]))
    nan = np.full(4, np.nan, np.float32).tobytes()
    damaged_by(tmp_path / "index", vectors[3].tobytes(), nan)
    with (
        open_store(store.location) as again,
        pytest.raises(DamagedIndexError, match="NaN or infinity; run: docpruner verify lance://"),
    ):
        found(again)


def test_a_file_that_is_gone_is_an_error_that_says_so(store, tmp_path):
    commit(store, document("a.pdf", [made_page(1, unit_vectors(9, 4))]))
    for file in (tmp_path / "index" / "data").iterdir():
        file.unlink()
    with (
        open_store(store.location) as again,
        pytest.raises(IndexStateError, match=r"a file is gone .* restore it from a copy"),
    ):
        found(again)


# ---------------------------------------------------------------------- places


def test_a_server_that_goes_away_and_comes_not_is_an_error_that_says_what_to_do(
    tmp_path, monkeypatch
):
    with s3_server(tmp_path) as server:
        server.make_bucket("here")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with create_store("lance+s3://here/index", settings_of()) as store:
            commit(store, document("a.pdf", [[X]]))
            with pytest.raises(IndexStateError, match=f"no bucket nowhere at {server.endpoint}"):
                open_store("lance+s3://nowhere/index")
            with monkeypatch.context() as other:
                other.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
                with pytest.raises(
                    IndexStateError, match=r"refuses access .* check AWS_ACCESS_KEY"
                ):
                    open_store("lance+s3://here/index")
            server.process.kill()
            with pytest.raises(
                IndexStateError, match=f"can't be reached at {server.endpoint} .* run again"
            ):
                commit(store, document("b.pdf", [[X]]))


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("lance://", "names no index; write lance://folder/name"),
        ("lance+s3://bucket", r"names no index; write lance\+s3://bucket/name"),
        ("lance://{}/file", "is a file; choose another name"),
        ("lance://{}/file/index", "can't be written .*Not a directory"),
    ],
)
def test_a_place_that_can_t_be_is_refused(tmp_path, location, message):
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexStateError, match=message):
        create_store(location.format(tmp_path), settings_of())


def test_a_table_of_others_is_not_taken_for_an_index(tmp_path):
    import lance
    import pyarrow as pa

    lance.write_dataset(pa.table({"a": [1]}), tmp_path / "table")
    with pytest.raises(IndexStateError, match="is a Lance table of others"):
        open_store(f"lance://{tmp_path}/table")


def test_without_the_extra_the_message_is_how_to_install_it():
    program = (
        "import sys; sys.modules['lance'] = None\n"
        "from docpruner import Index\n"
        "Index.open('lance://somewhere')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stderr.splitlines()[-1].endswith('pip install "docpruner[lance]"')


# ---------------------------------------------------------------------- from the command line


def test_every_command_works_on_it(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in ("tidal-energy-article.pdf", "travel-expense-form.pdf"):
        shutil.copy(SAMPLES / name, tmp_path / "docs")

    def told(*arguments: str):
        ran = docpruner(*arguments, "--json", at=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        return json.loads(ran.stdout if arguments[0] != "index" else ran.stdout.splitlines()[-1])

    def hits(index: str, *options: str):
        return told("search", index, "height of the tide", "-k", "3", *options)["hits"]

    where = "lance://indexes/mine"
    pages = told("index", where, "docs", "--spec", "none")["pages"]
    assert told("index", "my.idx", "docs", "--spec", "none")["pages"] == pages
    best = hits(where)
    assert best == hits("my.idx")
    assert Path(best[0]["document"]).name == "tidal-energy-article.pdf"
    assert len(told("list", where)) == 2
    assert told("stats", where)["pages"] == pages
    version = len(list((tmp_path / "indexes/mine/_versions").glob("*.manifest")))
    assert told("delete", where, "tidal*")["deleted"] == [best[0]["document"]]
    assert hits(where, "--version", str(version)) == best
    pruned = told("prune", where, "docpruner:k=0", "--yes")
    assert pruned["vectors"] < pruned["vectors_before"]
    assert told("verify", where)["damaged"] == []
    assert told("compact", where)["bytes_on_disk"] > 0
    again = told("index", where, "docs")
    assert again["documents"] == {"added": 1, "unchanged": 1}
    assert hits(where)[0]["document"] == best[0]["document"]
