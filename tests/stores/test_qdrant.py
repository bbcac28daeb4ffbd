"""What is Qdrant's own: errors of servers, the right to write, kills, dead points, quantisation."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

import docpruner as package
from cli_process import docpruner
from docpruner.codecs import encode
from docpruner.errors import IndexBusyError, IndexStateError, IndexWriteError
from docpruner.facade import Index
from docpruner.maxsim import score_pages
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.qdrant import lease
from docpruner.types import Filter
from stores.made import (
    X,
    Y,
    Z,
    commit,
    document,
    documents_of,
    found,
    made_page,
    page_of,
    settings_of,
    stats_of,
    unit_vectors,
)
from stores.qdrant_stand_in import API_KEY

TESTS = Path(__file__).parents[1]
SAMPLES = Path(package.__file__).parent / "samples"


@pytest.fixture
def server(qdrant_port, tmp_path) -> str:
    return f"qdrant://127.0.0.1:{qdrant_port}/{tmp_path.name}"


@pytest.fixture
def edge(fast_folder) -> str:
    return f"qdrant+edge://{fast_folder}/edge"


@pytest.fixture(params=["server", "edge"])
def location(request) -> str:
    return request.getfixturevalue(request.param)


# ---------------------------------------------------------------------- locations and errors


def test_no_server_at_the_address_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(IndexStateError, match=f"no Qdrant server answers at http://127.*:{port}"):
        store_exists(f"qdrant://127.0.0.1:{port}/index")


def test_a_server_of_another_kind_is_told_apart():
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.handle_request).start()
        with pytest.raises(IndexStateError, match=r"404 .*If it is no Qdrant server"):
            open_store(f"qdrant://127.0.0.1:{other.server_address[1]}/index")


def test_a_key_comes_from_the_environment_and_is_in_no_message(qdrant_port, tmp_path, monkeypatch):
    location = f"qdrant://127.0.0.1:{qdrant_port}/locked-{tmp_path.name}"
    with pytest.raises(IndexStateError, match="wants another API key; set QDRANT_API_KEY"):
        store_exists(location)
    monkeypatch.setenv("QDRANT_API_KEY", API_KEY)
    with pytest.warns(UserWarning, match="insecure connection"):
        assert not store_exists(location)
    with pytest.raises(IndexStateError, match="set QDRANT_API_KEY instead") as refused:
        store_exists(f"qdrant://:{API_KEY}@127.0.0.1:{qdrant_port}/index")
    assert API_KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("qdrant://host:6333", "names no collection"),
        ("qdrant://host:6333/a/b", "names no collection"),
        ("qdrant://host:many/a", "Port could not be cast"),
        ("qdrant+edge://", "names no folder"),
        ("qdrant://host/a?quantization=ternary", "quantization=scalar or quantization=binary"),
        ("qdrant://host/a?shards=3", "quantization=scalar or quantization=binary"),
    ],
)
def test_a_location_that_can_not_be_read_says_how_to_write_it(location, message):
    with pytest.raises(IndexStateError, match=message):
        create_store(location, settings_of())


def test_a_collection_of_somebody_else_is_left_alone(server, qdrant_port):
    name = server.rpartition("/")[2]
    client = QdrantClient(port=qdrant_port, host="127.0.0.1", check_compatibility=False)
    client.create_collection(name, models.VectorParams(size=2, distance=models.Distance.DOT))
    client.upsert(name, [models.PointStruct(id=1, vector=[1.0, 2.0], payload={"mine": True})])
    assert not store_exists(server)
    with pytest.raises(IndexStateError, match="docpruner has not made; choose another name"):
        create_store(server, settings_of())
    with pytest.raises(IndexStateError, match="holds no index"):
        open_store(server)
    assert client.count(name).count == 1
    client.close()


def test_a_page_too_large_for_a_point_is_refused_with_the_remedy(location):
    with create_store(location, settings_of(dim=128)) as store:
        commit(store, document("small.pdf", [unit_vectors(3, 128)]))
        fits = made_page(1, np.ones((8191, 128), np.float32))
        large = made_page(2, np.ones((8192, 128), np.float32))
        with pytest.raises(IndexWriteError, match=r"#2 has 8,192 vectors .* 1,048,576 .* Prune"):
            commit(store, document("large.pdf", [fits, large]))
        assert [entry.name for entry in documents_of(store)] == ["small.pdf"]
        commit(store, document("large.pdf", [fits]))
        assert len(page_of(store, "large.pdf", 1).vectors) == 8191


def test_edge_is_for_one_process_and_says_so(edge):
    with create_store(edge, settings_of()):
        shown = docpruner("list", edge)
    assert shown.returncode != 0
    assert "another process has" in shown.stderr
    assert "use a server" in " ".join(shown.stderr.split())


# ---------------------------------------------------------------------- one writer, whole commits


def test_who_is_not_heard_of_loses_the_right_to_write(server, monkeypatch):
    monkeypatch.setattr(lease, "PATIENCE", 0.5)
    monkeypatch.setattr(lease, "BEAT", 60.0)  # as if its machine slept
    with create_store(server, settings_of()) as store, open_store(server) as other:
        with store.writer() as slow:
            slow.commit([document("a.pdf", [[X]])])
            with pytest.raises(IndexBusyError, match="another process is writing"):
                other.writer(wait=0.1).__enter__()
            with other.writer(wait=5) as quick:
                quick.commit([document("b.pdf", [[X]])])
                with pytest.raises(IndexStateError, match="another process has begun to write"):
                    slow.commit([document("c.pdf", [[X]])])
                quick.commit([document("d.pdf", [[X]])])
        assert [name for name, _ in found(store)] == ["a.pdf#1", "b.pdf#1", "d.pdf#1"]


def test_who_lives_keeps_the_right_however_long_it_takes(server, monkeypatch):
    monkeypatch.setattr(lease, "PATIENCE", 0.6)
    monkeypatch.setattr(lease, "BEAT", 0.05)
    with create_store(server, settings_of()) as store, store.writer() as writer:
        with open_store(server) as other, pytest.raises(IndexBusyError, match=r"waited 1\.5 s"):
            other.writer(wait=1.5).__enter__()
        writer.commit([document("a.pdf", [[X]])])


CHILD = """
import sys
from docpruner.stores.locations import open_store
from stores.made import X, Y, document
with open_store(sys.argv[1]) as store, store.writer() as writer:
    for number in range(int(sys.argv[2]), 10_000):
        both = [document(f"{number}-{part}.pdf", [[X], [Y], [X]]) for part in "ab"]
        writer.commit([*both, document("same.pdf", [[X]] * 3, version=str(number))])
        print(number, flush=True)
"""


@pytest.mark.parametrize("location", ["server", "edge"], indirect=True)
def test_a_killed_writer_leaves_whole_commits_and_nothing_else(location, monkeypatch):
    """Each commit is of two documents and a new version of a third."""
    monkeypatch.setattr(lease, "PATIENCE", 0.5)
    create_store(location, settings_of()).close()
    last = 0
    for enough in (1, 5):
        command = [sys.executable, "-c", CHILD, location, str(last + 1)]
        path = {"PYTHONPATH": f"{Path(package.__file__).parents[1]}:{TESTS}"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=path) as child:
            for _ in range(enough):
                last = int(child.stdout.readline())
            child.send_signal(signal.SIGKILL)
            last = int((child.stdout.read().split() or [last])[-1])
        with open_store(location) as store:
            names = {entry.name for entry in documents_of(store)}
            there = max(int(name.partition("-")[0]) for name in names - {"same.pdf"})
            assert last <= there <= last + 1  # it may have died before it could say so
            whole = {f"{n}-{part}.pdf" for n in range(1, there + 1) for part in "ab"}
            assert names == whole | {"same.pdf"}
            assert len(found(store, k=10_000)) == 3 * len(names)
            with store.writer() as writer:  # which takes away what was left
                writer.delete([])
            store.compact()
            assert stats_of(store).bytes_reclaimable == 0
            assert len(found(store, k=10_000)) == 3 * len(names)
        last = there


def test_what_was_removed_is_kept_for_readers_until_it_is_compacted(location):
    with create_store(location, settings_of()) as store:
        commit(store, document("a.pdf", [[X]] * 5), document("b.pdf", [[Y]]))
        with store.writer() as writer:
            writer.delete(["a.pdf"])
        assert stats_of(store).bytes_reclaimable > 5 * 16
        store.compact()
        assert stats_of(store).bytes_reclaimable == 0
        assert found(store) == [("b.pdf#1", 0.0)]


def test_a_listing_from_before_a_compaction_is_read_anew(server):
    with create_store(server, settings_of()) as store, open_store(server) as other:
        commit(store, document("a.pdf", [[X]]), document("b.pdf", [[Y]]))
        assert len(found(other)) == 2
        with store.writer() as writer:
            writer.delete(["a.pdf"])
        store.compact()
        assert found(other) == [("b.pdf#1", 0.0)]
        assert [entry.name for entry in documents_of(other)] == ["b.pdf"]


# ---------------------------------------------------------------------- vectors, words, names


@pytest.mark.parametrize("codec", ["float32", "float16", "int8", "int4", "int1", "binary"])
def test_rows_of_every_codec_come_back_bit_for_bit(location, codec):
    vectors = unit_vectors(40, 128, seed=3)
    vectors[0, :3] = 0.0, -0.0, 6e-8
    page = made_page(1, vectors, codec=codec)
    with create_store(location, settings_of(dim=128, codec=codec)) as store:
        commit(store, document("a.pdf", [page]))
        assert page_of(store, "a.pdf", 1).vectors.rows.tobytes() == page.vectors.rows.tobytes()


def test_pages_are_found_by_their_words_and_words_come_back(location):
    texts = {
        "a.pdf": "The landlord raises the rent",
        "b.pdf": "rent rent and a deposit",
        "c.pdf": "tidal energy and the sea",
        "d.pdf": "",
    }
    with create_store(location, settings_of()) as store:
        commit(store, *(document(n, [made_page(1, [X], text=t)]) for n, t in texts.items()))
        assert page_of(store, "a.pdf", 1).text.plain == texts["a.pdf"]
        with store.reader() as reader:
            assert [page.document for page in reader.rank_text("Rent?", 9, Filter())] == [
                "b.pdf",
                "a.pdf",
            ]
            (best, *others) = reader.rank_text("the landlord's sea", 9, Filter())
            assert {best.document, *(page.document for page in others)} == {"a.pdf", "c.pdf"}
            only = Filter(documents=("c*",))
            assert [p.document for p in reader.rank_text("rent sea", 9, only)] == ["c.pdf"]
            assert reader.rank_text("nothing", 9, Filter()) == []
            assert reader.rank_text("?!", 9, Filter()) == []
        with store.writer() as writer:
            writer.delete(["b.pdf"])
        with store.reader() as reader:
            assert [p.document for p in reader.rank_text("rent", 9, Filter())] == ["a.pdf"]


def test_names_that_are_no_utf8_come_back(location):
    name = "müll/\udcff\U0001f600.pdf"
    with create_store(location, settings_of()) as store:
        commit(store, document(name, [[X]], metadata={"n": 10**20, "x": 1.0, "none": None}))
        assert found(store) == [(f"{name}#1", 1.0)]
        assert documents_of(store)[0].metadata == {"n": 10**20, "x": 1.0, "none": None}


@pytest.mark.parametrize("kind", ["scalar", "binary"])
def test_a_quantised_index_is_exact_when_asked_and_near_with_candidates(edge, kind):
    """Queries are made of vectors of one page, with noise."""
    pages = [unit_vectors(20, 64, seed=n) for n in range(300)]
    queries = [np.float32(pages[n][:8] + unit_vectors(8, 64, seed=n) / 2) for n in range(5)]
    scores = score_pages(queries, encode(np.concatenate(pages), "float32"), np.arange(301) * 20)
    with create_store(f"{edge}?quantization={kind}", settings_of(dim=64)) as store:
        commit(store, document("a.pdf", pages))
        with store.reader() as reader:
            exact = reader.rank(queries, 10, Filter())
            near = reader.rank(queries, 10, Filter(), exact=False, candidates=200)
    for row, right, best in zip(scores, exact, near, strict=True):
        assert [page.number - 1 for page in right] == np.argsort(-row)[:10].tolist()
        assert best[0] == right[0]
        assert len(set(right) & set(best)) >= 5
        shown = [page.score for page in best]  # whatever was chosen, scores are exact
        assert shown == pytest.approx([row[page.number - 1] for page in best], abs=1e-4)


def test_a_rewritten_index_keeps_its_words_and_unfinished_versions(location):
    with create_store(location, settings_of()) as store:
        commit(store, document("a.pdf", [made_page(1, [X, Y], text="one two")]))
        commit(store, document("a.pdf", [[Z]], of=2, version="second", finished=False))
        with store.writer() as writer:
            writer.rewrite(
                lambda page: replace(page, vectors=encode(page.vectors.decode(), "int8")),
                replace(writer.settings, codec="int8"),
            )
        assert found(store) == [("a.pdf#1", pytest.approx(1.0, abs=1e-4))]
        assert page_of(store, "a.pdf", 1).text.plain == "one two"


# ---------------------------------------------------------------------- end to end


def test_the_commands_work_on_real_files_and_rank_as_our_own_kernel(edge):
    files = [str(SAMPLES / name) for name in ("annual-report.pdf", "tidal-energy-article.pdf")]
    added = docpruner("index", edge, *files, "--codec", "float16")
    assert added.returncode == 0, added.stderr
    answer = json.loads(docpruner("search", edge, "turbines in a strait", "--json").stdout)
    hits = [(hit["document"], hit["page"]) for hit in answer["hits"]]
    assert hits[0][0].endswith("tidal-energy-article.pdf")
    with Index.open(edge) as index, open_store(edge) as store, store.reader() as reader:
        assert [(hit.document, hit.page) for hit in index.search("turbines in a strait")] == hits
        names = reader.pages()
        pages = [reader.page(*name).vectors.decode() for name in names]
        query = unit_vectors(12, reader.settings.dim)
        offsets = [0, *np.cumsum([len(page) for page in pages])]
        (scores,) = score_pages([query], encode(np.concatenate(pages), "float32"), offsets)
        (ranked,) = reader.rank([query], len(names), Filter())
        ours = dict(zip(names, scores.tolist(), strict=True))
        assert {page.name: page.score for page in ranked} == pytest.approx(ours, abs=12 * 1e-4)
    assert json.loads(docpruner("stats", edge, "--json").stdout)["pages"] == len(names)
    assert docpruner("delete", edge, "annual-report.pdf").returncode == 0
    listed = docpruner("list", edge).stdout
    assert "tidal-energy-article" in listed
    assert "annual-report" not in listed
