"""Only what was indexed is shown: never what has taken the place of a file since."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from docpruner.facade import Index
from docpruner.stores.records import DocumentEntry
from docpruner.web.drawings import Drawings
from docpruner.web.error_responses import Refused
from docpruner.web.index_view import IndexView
from docpruner.web.indexed_files import IndexedFiles
from docpruner.web.names import document_id
from docpruner.web.page_views import page_drawing
from faults.library import pdf
from faults.words import WordEncoder
from web.running import Server, served_words

SECRET = "BEGIN-PRIVATE-KEY"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files `kept.pdf` and `other.pdf`, and a server over the first."""
    folder = tmp_path_factory.mktemp("identity") / "library"
    folder.mkdir()
    kept, other = folder / "kept.pdf", folder / "other.pdf"
    kept.write_bytes(pdf("kept", 2))
    other.write_bytes(pdf(SECRET, 2))
    (folder / "key").write_text(f"{SECRET} and more of it\n")
    index = folder.parent / "i"
    with Index.create(index, encoder=WordEncoder()) as new:
        new.add(kept)
    with served_words(index) as server:
        yield folder, server


@pytest.fixture
def kept(place):
    """The indexed file, put back after each test."""
    folder, _ = place
    path = folder / "kept.pdf"
    aside = folder.parent / "aside.pdf"
    shutil.copy(path, aside)
    yield path
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    shutil.copy(aside, path)


@pytest.fixture
def server(place) -> Server:
    return place[1]


def refused(server: Server) -> dict[str, int]:
    """The status of what would show the file; nothing of another one is in any answer."""
    (document,) = server.ids().values()
    page = f"/api/pages/{document}/1"
    routes = ("original", "image?width=200", "image?overlay=kept", "image?overlay=match&q=kept")
    statuses = {}
    for route in routes:
        answer = server.get(f"{page}/{route}")
        assert SECRET.encode() not in answer.content
        assert SECRET[:6] not in answer.text
        statuses[route] = answer.status_code
    hits = server.get("/api/search", params={"q": f"kept {SECRET}"}).json()["hits"]
    assert [hit["page"] for hit in hits] == [1, 2]  # searching needs no file
    assert not any(word["page"] == SECRET for hit in hits for word in hit["matched"])
    assert server.get(f"{page}/hit", params={"q": SECRET}).status_code == 200
    return statuses


def test_a_file_as_it_was_indexed_is_shown(server, kept):
    (document,) = server.ids().values()
    assert server.get(f"/api/pages/{document}/1/image").status_code == 200
    assert server.get(f"/api/pages/{document}/1/original").content == kept.read_bytes()
    (hit, _) = server.get("/api/search?q=kept").json()["hits"]
    assert {"query": "kept", "page": "kept"} in hit["matched"]


def swap_for_a_link(kept: Path) -> None:
    kept.unlink()
    kept.symlink_to(kept.parent / "other.pdf")


def swap_for_a_link_without_ending(kept: Path) -> None:
    kept.unlink()
    kept.symlink_to(kept.parent / "key")


def swap_for_another_file(kept: Path) -> None:
    os.replace(shutil.copy(kept.parent / "other.pdf", kept.parent / "new.pdf"), kept)


def swap_with_the_old_times(kept: Path) -> None:
    """As long and as old as the file was."""
    status = kept.stat()
    content = (kept.parent / "other.pdf").read_bytes()[: status.st_size]
    kept.write_bytes(content.ljust(status.st_size))
    os.utime(kept, ns=(status.st_atime_ns, status.st_mtime_ns))


def swap_for_no_document(kept: Path) -> None:
    kept.write_text(f"{SECRET} and more of it\n")


def swap_for_a_folder(kept: Path) -> None:
    kept.unlink()
    kept.mkdir()


def swap_for_a_pipe(kept: Path) -> None:
    kept.unlink()
    os.mkfifo(kept)


@pytest.mark.parametrize(
    "swap",
    [
        swap_for_a_link,
        swap_for_a_link_without_ending,
        swap_for_another_file,
        swap_with_the_old_times,
        swap_for_no_document,
        swap_for_a_folder,
        swap_for_a_pipe,
    ],
)
def test_what_takes_the_place_of_a_file_is_not_shown(server, kept, swap):
    (document,) = server.ids().values()
    seen = server.get(f"/api/pages/{document}/1/image?width=200")
    assert seen.status_code == 200
    swap(kept)
    assert set(refused(server).values()) == {409}
    answer = server.get(f"/api/pages/{document}/1/original").json()["error"]["message"]
    assert answer == "the file has changed since it was indexed; index it again"
    again = server.get(
        f"/api/pages/{document}/1/image?width=200", headers={"If-None-Match": seen.headers["etag"]}
    )
    assert again.status_code == 409


def test_a_folder_swapped_for_a_link_leads_nowhere(server, kept):
    folder = kept.parent
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(folder / "other.pdf", elsewhere / "kept.pdf")
    folder.rename(folder.parent / "was")
    try:
        folder.symlink_to(elsewhere)
        assert set(refused(server).values()) == {409}
        shutil.copy(folder.parent / "aside.pdf", elsewhere / "kept.pdf")  # the same, elsewhere
        assert set(refused(server).values()) == {409}
    finally:
        folder.unlink()
        (folder.parent / "was").rename(folder)
    assert set(refused(server).values()) == {200}


def test_a_file_that_is_gone_is_told(server, kept):
    kept.unlink()
    assert set(refused(server).values()) == {404}
    (document,) = server.ids().values()
    answer = server.get(f"/api/pages/{document}/1/original").json()["error"]["message"]
    assert answer == "the file is gone; put it back or remove the document"
    kept.symlink_to(kept.parent / "nothing.pdf")
    assert set(refused(server).values()) == {404}


def test_a_file_is_read_once_to_know_it(tmp_path, monkeypatch):
    path = tmp_path / "a.pdf"
    path.write_bytes(b"content")
    entry = DocumentEntry(str(path), 1, {}, hashlib.sha256(b"content").digest())
    files, read = IndexedFiles(str), []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *given: read.append(1) or digest(*given))
    assert files.state(entry) == files.state(entry)
    assert read == [1]
    path.write_bytes(b"CONTENT")
    for _ in range(2):
        with pytest.raises(Refused, match="has changed since it was indexed"):
            files.state(entry)
    assert read == [1, 1]


def test_a_link_that_was_indexed_under_its_own_name_is_shown(tmp_path):
    """Its target has no ending that says what it is."""
    (tmp_path / "blob").write_bytes(pdf("linked", 1))
    (tmp_path / "linked.pdf").symlink_to(tmp_path / "blob")
    with Index.create(tmp_path / "i", encoder=WordEncoder()) as index:
        index.add(tmp_path / "linked.pdf")
        (entry,) = index.documents()
    assert entry.name == str(tmp_path / "linked.pdf")
    file, _ = IndexedFiles(str).open(entry)
    with file:
        assert file.read() == (tmp_path / "blob").read_bytes()


def test_a_file_swapped_while_it_is_drawn_is_not_shown(place, kept):
    folder, _ = place
    with Index.open(folder.parent / "i", encoder=WordEncoder()) as index:
        view = IndexView(index)
        drawings = Drawings(view.files)
        try:
            drawing = page_drawing(view, document_id(str(kept)), 1, 200, None, None, None)
            tag = drawings.tag(drawing)
            swap_for_another_file(kept)
            with pytest.raises(Refused, match="has changed since it was indexed"):
                drawings.draw(drawing, tag)
        finally:
            drawings.close()
            view.close()
