"""Documents sent in and taken out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO

import pytest

from docpruner.facade import Index
from docpruner.web.uploads import save
from faults.library import pdf
from faults.words import WordEncoder
from web.running import served_words


def names(server) -> list[str]:
    return list(server.ids())


def test_documents_of_one_name_are_told_apart(changing):
    assert sorted(names(changing)) == ["library/harbour.pdf", "older/harbour.pdf"]


def test_a_document_is_added_and_found(changing, shared_index):
    answer = changing.upload(("report.pdf", pdf("new", 3)), ("other.pdf", pdf("other", 1)))
    assert answer.status_code == 202
    job = changing.finished(answer.json()["job"])
    assert job["state"] == "done"
    assert (job["share"], job["pages"], job["documents"]) == (1.0, 4, {"added": 2})
    assert 0 < job["kept"] < 1
    assert job["problems"] == []
    assert {"report.pdf", "other.pdf"} < set(names(changing))
    hits = changing.get("/api/search?q=new+page3&k=1").json()["hits"]
    assert (hits[0]["name"], hits[0]["page"]) == ("report.pdf", 3)
    image = changing.get(f"/api/pages/{hits[0]['document']}/3/image?width=100")
    assert image.status_code == 200
    uploads = shared_index.parent / "words.idx-uploads"
    assert {"other.pdf", "report.pdf"} <= {path.name for path in uploads.iterdir()}


def test_another_file_of_the_same_name_gets_a_number(changing):
    first, second = pdf("a", 1, "first"), pdf("a", 1, "second")
    for content in (first, second, first):
        sent = changing.upload(("a.pdf", content))
        last = changing.finished(sent.json()["job"])
    assert {"a.pdf", "a (2).pdf"} < set(names(changing))
    assert last["documents"] == {"unchanged": 1}  # the same file again


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../../escape.pdf", "escape.pdf"),
        ("..\\..\\escape.pdf", "escape.pdf"),
        ("/etc/cron.d/job.pdf", "job.pdf"),
        ("C:\\Windows\\system.pdf", "system.pdf"),
        ("..%2f..%2fescape.pdf", "_2f.._2fescape.pdf"),
        ("...pdf", "document.pdf"),
        (".pdf", "document.pdf"),
        ("-rf.pdf", "-rf.pdf"),
        ("a\x00b.pdf", "a_b.pdf"),
        ("Über $(rm) <b>.PDF", "Über _(rm) _b_.pdf"),
        ("x" * 300 + ".pdf", "x" * 80 + ".pdf"),
        ("\U00020000" * 90 + ".pdf", "\U00020000" * 50 + ".pdf"),
        ("ä" * 79 + "\U00020000" * 20 + ".pdf", "ä" * 79 + "\U00020000" + ".pdf"),
    ],
)
def test_names_lose_what_could_do_harm(given, kept, tmp_path):
    (path,) = save([(given, BytesIO(b"content"))], tmp_path / "in")
    assert path == tmp_path / "in" / kept
    assert [child.name for child in tmp_path.iterdir()] == ["in"]


def test_a_name_of_many_bytes_is_shortened(changing):
    name = "\U00020000" * 90 + ".pdf"
    for content in (pdf("long", 1), pdf("longer", 1)):
        sent = changing.upload((name, content))
        assert sent.status_code == 202
        assert changing.finished(sent.json()["job"])["documents"] == {"added": 1}
    short = "\U00020000" * 50
    assert {f"{short}.pdf", f"{short} (2).pdf"} < set(names(changing))


def test_a_link_in_the_folder_is_not_written_through(tmp_path):
    target = tmp_path / "secret"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pdf").symlink_to(target)
    (path,) = save([("a.pdf", BytesIO(b"content"))], tmp_path / "in")
    assert path.name == "a (2).pdf"
    assert not target.exists()


def test_what_cannot_be_read_is_reported_by_its_name(changing, shared_index):
    sent = changing.upload(("cut.pdf", pdf("cut", 1)[:300]), ("good.pdf", pdf("good", 1)))
    job = changing.finished(sent.json()["job"])
    assert job["state"] == "done"
    (problem,) = job["problems"]
    assert (problem["name"], problem["page"]) == ("cut.pdf", None)
    assert problem["reason"]
    assert str(shared_index.parent) not in json.dumps(job)
    assert "good.pdf" in names(changing)


BOUNDARY = {"Content-Type": "multipart/form-data; boundary=x"}
MALFORMED = [
    ({}, b"", 422),
    ({"Content-Type": "application/json"}, b"{}", 422),
    ({"Content-Type": "multipart/form-data"}, b"--x--", 400),
    (BOUNDARY, b"no part at all", 400),
    (BOUNDARY, b"--x\r\n\r\nno disposition\r\n--x--", 400),
    (BOUNDARY, b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\ntext\r\n--x--', 422),
    (BOUNDARY, b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\ncut',
     422),
    (BOUNDARY,
     b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.exe"\r\n\r\nMZ\r\n--x--',
     422),
]  # fmt: skip


def test_malformed_uploads_are_refused(changing, shared_index):
    uploads = shared_index.parent / "words.idx-uploads"
    before = sorted(uploads.glob("*"))
    for headers, body, status in MALFORMED:
        answer = changing.client.post("/api/documents", headers=headers, content=body)
        assert (answer.status_code, body) == (status, body)
        assert answer.json()["error"]["message"]
    too_many = changing.upload(*[(f"{number}.pdf", b"%PDF-") for number in range(51)])
    assert too_many.status_code == 400
    assert sorted(uploads.glob("*")) == before


def test_too_much_is_refused_before_and_while_it_is_read(words_index):
    def endless() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n'
        for _ in range(64):
            yield b"x" * (1 << 18)

    with served_words(words_index, "--allow-changes", "--max-upload", "100000") as running:
        said = running.upload(("a.pdf", b"x" * 3_000_000))
        assert (said.status_code, said.json()["error"]["code"]) == (413, "too_large")
        chunked = running.client.post("/api/documents", headers=BOUNDARY, content=endless())
        assert chunked.status_code == 413
        assert running.get("/api/health").status_code == 200
        assert not (words_index.parent / "words.idx-uploads").exists()


def test_more_uploads_than_can_wait_are_refused(words_index):
    with served_words(words_index, "--allow-changes", "--seconds", "0.3") as running:
        sent = [running.upload((f"{n}.pdf", pdf(str(n), 4))).status_code for n in range(14)]
        assert sent[:8] == [202] * 8
        assert 429 in sent
        assert running.get("/api/search?q=harbour").status_code == 200


def test_a_file_that_is_gone_is_told(changing, shared_index):
    folder = shared_index.parent / "library"
    (folder / "harbour.pdf").unlink()
    document = changing.ids()["library/harbour.pdf"]
    for what in ("image", "original"):
        answer = changing.get(f"/api/pages/{document}/1/{what}")
        assert answer.status_code == 404
        assert "gone" in answer.json()["error"]["message"]
    hits = changing.get("/api/search?q=harbour&document=library/harbour.pdf").json()["hits"]
    assert len(hits) == 2  # searching needs no file


def test_a_document_is_taken_out_and_no_other(changing, shared_index):
    listed = changing.ids()
    gone, stays = listed["library/harbour.pdf"], listed["older/harbour.pdf"]
    answer = changing.client.delete(f"/api/documents/{gone}")
    assert answer.json() == {"deleted": "library/harbour.pdf"}
    assert len(names(changing)) == len(listed) - 1
    assert "harbour.pdf" in names(changing)  # alone, it needs no folder
    assert changing.get(f"/api/pages/{gone}/1").status_code == 404
    assert changing.get(f"/api/pages/{stays}/1").status_code == 200
    assert changing.client.delete(f"/api/documents/{gone}").status_code == 404
    with Index.open(shared_index) as index:
        assert index.verify() == []


def test_what_if_follows_the_index(changing):
    before = changing.get("/api/whatif?spec=docpruner:k=0").json()
    changing.finished(changing.upload(("more.pdf", pdf("more", 5))).json()["job"])
    after = changing.get("/api/whatif?spec=docpruner:k=0").json()
    assert after["pages"] == before["pages"] + 5
    assert after["vectors"] > before["vectors"]


def test_an_index_without_importances_has_no_what_if(tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf("a", 1))
    with Index.create(tmp_path / "i", encoder=WordEncoder(), importances=False) as index:
        index.add(tmp_path / "a.pdf")
    with served_words(tmp_path / "i") as running:
        path = f"/api/pages/{running.ids()['a.pdf']}/1"
        page = running.get(path).json()
        assert page["importance"] is page["mean"] is page["threshold"] is None
        assert running.get(f"{path}/image?overlay=kept").status_code == 200
        for route in ("/api/whatif", f"{path}/reduction"):
            answer = running.get(route, params={"spec": "docpruner:k=0.5"})
            assert answer.status_code == 422
            assert "without the importances" in answer.json()["error"]["message"]
