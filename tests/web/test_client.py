"""`docpruner.client` against a real server: it answers as the index does that is served."""

from __future__ import annotations

import shutil
import socket
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docpruner.client import Client
from docpruner.errors import AddError, FilterError, PageError, ScoringError, ServerError
from docpruner.facade import Index
from faults.library import pdf
from web.conftest import SAMPLES
from web.running import served

QUESTION = "In which part of southern Europe did sales go down?"


@pytest.fixture(scope="module")
def index(samples_index):
    with Index.open(samples_index) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(server):
    return Client(server.url)


@pytest.fixture(scope="module")
def answers(client, index):
    """The same question to both."""
    return client.search(QUESTION, 4), index.search(QUESTION, 4)


def pages(hits):
    return [(Path(hit.document).name, hit.page) for hit in hits]


def test_hits_are_those_of_the_index(answers):
    theirs, ours = answers
    assert pages(theirs) == pages(ours)
    for hit, own in zip(theirs, ours, strict=True):
        assert hit.document == Path(own.document).name
        assert hit.score == pytest.approx(own.score, abs=1e-4)
        assert (hit.metadata, hit.size, hit.query) == (own.metadata, own.size, QUESTION)
        assert [match.word for match in hit.matches] == [match.word for match in own.matches]
        for match, other in zip(hit.matches, own.matches, strict=True):
            assert np.allclose(match.boxes, other.boxes, atol=1e-4)
            assert match.closeness == pytest.approx(other.closeness, abs=1e-2)


def test_text_and_snippets_of_hits_are_the_same(answers):
    for hit, own in zip(*answers, strict=True):
        assert hit.text == own.text
        assert hit.snippet(mark=("**", "**")) == own.snippet(mark=("**", "**"))
    assert "Northern **Europe** **Southern** **Europe**" in answers[0][0].snippet(mark=("**", "**"))


def test_pictures_of_hits_look_the_same(answers):
    hit, own = answers[0][0], answers[1][0]
    drawn, true = hit.image(400).convert("L"), own.image(400).convert("L")
    assert (drawn.width, true.width) == (400, 400)
    assert abs(drawn.height - true.height) <= 1
    difference = np.asarray(drawn.resize((400, 560)), float) - np.asarray(true.resize((400, 560)))
    assert np.abs(difference).mean() < 6  # of 255: what the server sends is WebP
    assert abs(hit.image().width - own.image().width) <= 20


@pytest.mark.parametrize(
    "only",
    [
        {"documents": "annual-report.pdf"},
        {"documents": ["*slides*", "travel*"]},
        {"pages": (2, 3)},
        {"pages": (4, None)},
        {"metadata": {"year": 2024}},
        {"metadata": {"year": 1999}},
        {"exact": True},
        {"mode": "text"},
        {"mode": "hybrid"},
    ],
)
def test_a_search_is_narrowed_in_the_same_way(client, index, only):
    assert pages(client.search("sales", 5, **only)) == pages(index.search("sales", 5, **only))


def test_many_queries_one_page_documents_and_figures(client, index):
    first, second = client.search_many(["dividend", "cargo bike"], 2)
    assert [pages(first), pages(second)] == [
        pages(hits) for hits in index.search_many(["dividend", "cargo bike"], 2)
    ]
    hit = client.hit("dividend growth", "travel-expense-form.pdf", 1)
    own = index.hit("dividend growth", str(SAMPLES / "travel-expense-form.pdf"), 1)
    assert hit.score == pytest.approx(own.score, abs=1e-4)
    assert client.hit("dividend", "travel-expense-form.pdf", 99) is None
    assert client.hit("dividend", "no such.pdf", 1) is None
    listed = [(Path(entry.name).name, entry.pages, entry.metadata) for entry in index.documents()]
    assert [(entry.name, entry.pages, entry.metadata) for entry in client.documents()] == listed
    stats = index.stats()
    assert client.stats() == replace(stats, settings=replace(stats.settings, root=""))


def test_it_takes_the_address_as_the_server_prints_it(samples_index, monkeypatch):
    with served(samples_index) as running:
        assert "#token=" in running.address
        assert Client(running.address).stats().documents == 6
        assert Client(running.url, token=running.token).stats().documents == 6
        assert running.token not in repr(Client(running.address))
        with pytest.raises(ServerError, match="the token is missing; give the server's") as error:
            Client(running.url).stats()
        assert (error.value.status, error.value.code) == (401, "unauthorized")
        with pytest.raises(ServerError, match="the token is not the right one"):
            Client(running.url, token="wörng").search("a")
        monkeypatch.setenv("DOCPRUNER_TOKEN", running.token)
        assert Client(running.url).stats().documents == 6


def test_what_is_asked_wrongly_is_said(client):
    with pytest.raises(ScoringError, match="k=0 must be at least 1"):
        client.search("a", 0)
    with pytest.raises(ScoringError, match="give one of query and image"):
        client.search()
    with pytest.raises(ScoringError, match="takes a list of queries"):
        client.search_many("dividend")
    with pytest.raises(FilterError, match="metadata 'tags': a server takes"):
        client.search("a", metadata={"tags": ["b", "c"]})
    with pytest.raises(ServerError, match="the query is empty") as error:
        client.search(" ")
    assert (error.value.status, error.value.code) == (422, "invalid")
    with pytest.raises(ServerError, match="k: Input should be less than or equal to 100"):
        client.search("a", 101)
    with pytest.raises(ServerError, match="'9-3' is not a page range"):
        client.search("a", pages=(9, 3))
    with pytest.raises(ServerError, match="is no address of a server; it looks like http://127"):
        Client("/home/me/my.idx")
    with pytest.raises(ServerError, match="changes are not allowed; start the server with"):
        client.delete("annual-report.pdf")


def test_a_file_that_is_gone_is_a_page_error(tmp_path):
    form = shutil.copy(SAMPLES / "travel-expense-form.pdf", tmp_path)
    with Index.create(tmp_path / "index", text=False) as index:
        index.add(form)
    with served(tmp_path / "index", "--no-token") as running:
        (hit, *_) = Client(running.url).search("guest house")
        assert "guest house" in hit.text.casefold()  # not stored: read from the file
        (again, *_) = Client(running.url).search("guest house")
        Path(form).unlink()
        with pytest.raises(
            PageError, match=r"travel-expense-form\.pdf#2: the file is gone; put it"
        ):
            again.image()
        with pytest.raises(
            PageError, match=r"travel-expense-form\.pdf#2: the file is gone; put it"
        ):
            assert again.text


def test_documents_below_a_root_are_read_and_drawn(tmp_path):
    (tmp_path / "shelf" / "forms").mkdir(parents=True)
    shutil.copy(SAMPLES / "travel-expense-form.pdf", tmp_path / "shelf" / "forms")
    with Index.create(tmp_path / "index", text=False, root=tmp_path / "shelf") as index:
        index.add(tmp_path / "shelf")
    with served(tmp_path / "index", "--no-token") as running:
        (hit, *_) = Client(running.url).search("guest house")
        assert "guest house" in hit.text.casefold()
        assert hit.image(300).width == 300


def test_a_server_that_is_not_there_is_said_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nobody = Client(f"http://127.0.0.1:{port}")
    with pytest.raises(ServerError, match=r"\(connection refused\); is docpruner serve running"):
        nobody.search("a")
    with pytest.raises(ServerError, match=r"can't reach http://no\.such\.host\.invalid"):
        Client("http://no.such.host.invalid").stats()


def test_a_server_that_says_nothing_is_not_waited_for_forever():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServerError, match=r"did not answer within 0\.2 s"):
            Client(url, timeout=0.2).stats()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "no docpruner server"),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 5\r\n\r\nhello", "it answered 502"),
        (b"nonsense\r\n\r\n", "can't reach"),
        (b"", "can't reach"),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
            "it answered 302 and refers to http://evil.example/",
        ),
    ],
)
def test_what_answers_in_the_place_of_a_server_is_not_believed(sent, said):
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer():
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(sent)

        answering = threading.Thread(target=answer)
        answering.start()
        try:
            with pytest.raises(ServerError, match=said):
                Client(f"http://127.0.0.1:{other.getsockname()[1]}", timeout=10).stats()
        finally:
            answering.join()


def test_documents_are_added_and_taken_out(changing, tmp_path):
    client = Client(changing.url)
    new = tmp_path / 'a "new" one.pdf'
    new.write_bytes(pdf("apples", 3))
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and no more")
    seen = []
    report = client.add([new, broken], progress=seen.append)
    assert (report.documents, report.pages, report.outcome) == (Counter(added=1), 3, "some")
    assert [problem.path for problem in report.problems] == ["broken.pdf"]
    assert seen[-1] == report
    (entry,) = [entry for entry in client.documents() if "new" in entry.name]
    assert entry.pages == 3
    assert client.delete("*new*") == [entry.name]
    assert entry not in client.documents()
    with pytest.raises(AddError, match=r"broken\.pdf: "):
        client.add(broken)
    with pytest.raises(PageError, match="is a folder; give the files in it"):
        client.add(tmp_path)
    with pytest.raises(PageError, match=r"gone\.pdf: can't be read \(no such file"):
        client.add(tmp_path / "gone.pdf")
    with pytest.raises(ServerError, match="is not a PDF or an image"):
        client.add(Path(__file__))


def test_an_encoder_of_words_says_why_it_sees_no_picture(client):
    with pytest.raises(ServerError, match=r"reads words and sees no pictures.* --image FILE --ocr"):
        client.search(image=Image.new("RGB", (40, 40)))
