"""Which files are read, and what is said of the others."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from docpruner.errors import PageError
from docpruner.pages.files import SUFFIXES, find_files


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def files_in(*paths: Path | str) -> list[Path]:
    files = list(find_files(paths))
    assert all(isinstance(file, Path) for file in files), files
    return files


def problem(*paths: Path | str) -> str:
    (entry,) = find_files(paths)
    assert isinstance(entry, PageError)
    return str(entry)


def test_a_folder_gives_its_files_sorted_and_those_of_its_folders(tmp_path):
    names = ["a.pdf", "b/c.PNG", "b/d.tiff", "b/e/f.WebP", "g.jpeg"]
    files = [touch(tmp_path / name) for name in names]
    assert files_in(tmp_path) == files


def test_other_kinds_and_hidden_files_are_passed_over_in_folders(tmp_path):
    for name in ("notes.txt", "pdf", ".hidden.pdf", ".git/a.pdf", "report.pdf.part"):
        touch(tmp_path / name)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("suffix", sorted(SUFFIXES))
def test_a_file_may_be_named(tmp_path, suffix):
    file = touch(tmp_path / f"a{suffix.upper()}")
    assert files_in(str(file)) == [file]


def test_paths_are_absolute(tmp_path, monkeypatch):
    file = touch(tmp_path / "docs" / "a.pdf")
    monkeypatch.chdir(tmp_path)
    assert files_in("docs", "docs/../docs/a.pdf") == [file]


def test_a_file_reached_twice_comes_once(tmp_path):
    file = touch(tmp_path / "real" / "a.pdf")
    (tmp_path / "again").symlink_to(tmp_path / "real")
    (tmp_path / "b.pdf").symlink_to(file)
    assert files_in(file, tmp_path, tmp_path / "b.pdf") == [file]


def test_a_link_says_what_kind_its_target_is(tmp_path):
    """Caches keep files under their hashes and link to them."""
    blob = touch(tmp_path / ".blobs" / "5f3a")
    link = tmp_path / "docs" / "a.pdf"
    link.parent.mkdir()
    link.symlink_to(blob)
    assert files_in(link.parent) == [link]
    latest = tmp_path / "latest"
    latest.symlink_to(touch(tmp_path / "may.pdf"))
    assert files_in(latest) == [tmp_path / "may.pdf"]


def test_a_path_that_does_not_exist_is_an_entry_and_the_rest_goes_on(tmp_path):
    file = touch(tmp_path / "b.pdf")
    missing, there = find_files([tmp_path / "a.pdf", file])
    assert str(missing) == f"{tmp_path}/a.pdf: does not exist; check the path"
    assert there == file


def test_a_named_file_of_another_kind_is_an_entry(tmp_path):
    assert "is a .docx file, not a PDF or an image; save it as a PDF" in problem(
        touch(tmp_path / "a.docx")
    )


def test_a_named_file_without_an_ending_is_an_entry(tmp_path):
    assert "notes: has no file ending; save it as a PDF" in problem(touch(tmp_path / "notes"))


def test_a_broken_link_is_an_entry(tmp_path):
    (tmp_path / "a.pdf").symlink_to(tmp_path / "gone.pdf")
    assert "a.pdf: is a broken link; remove it or restore its target" in problem(tmp_path)


def test_file_links_in_a_circle_are_entries(tmp_path):
    (tmp_path / "a.pdf").symlink_to(tmp_path / "b.pdf")
    (tmp_path / "b.pdf").symlink_to(tmp_path / "a.pdf")
    entries = list(find_files([tmp_path]))
    assert [entry.reason for entry in entries] == ["is a link that leads back to itself"] * 2


def test_a_folder_link_to_a_folder_above_is_an_entry(tmp_path):
    file = touch(tmp_path / "a" / "b" / "c.pdf")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    assert files_in(file) == [file]
    *files, loop = find_files([tmp_path])
    assert files == [file]
    assert "b/up: is a link back to a folder above it" in str(loop)


def test_folders_that_all_link_to_each_other_are_walked_once(tmp_path):
    """Every path through 30 of them would be 30! paths."""
    folders = [tmp_path / f"{number:02}" for number in range(30)]
    files = [touch(folder / "a.pdf") for folder in folders]
    for folder in folders:
        for other in folders:
            (folder / f"z{other.name}").symlink_to(other)
    entries = list(find_files([tmp_path]))
    assert sorted(entry for entry in entries if isinstance(entry, Path)) == files


def test_folders_may_be_deeper_than_python_recurses(tmp_path):
    depth, here = 1200, os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("a.pdf").write_bytes(b"x")
        assert files_in(tmp_path) == [tmp_path.joinpath(*["d"] * depth, "a.pdf")]
        os.remove("a.pdf")
        for _ in range(depth):  # pytest, which tidies up by recursion, could not
            os.chdir("..")
            os.rmdir("d")
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    "name",
    ["two words.pdf", "größe 報告 🚢.pdf", "n" * 251 + ".pdf", "line\nbreak.pdf", "%s{}.pdf"],
)
def test_odd_names_are_fine(tmp_path, name):
    file = touch(tmp_path / name)
    assert files_in(tmp_path) == files_in(file) == [file]


def test_a_name_that_is_not_utf8_is_an_entry_with_the_bytes_escaped(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.pdf", "wb"):
        pass
    assert problem(tmp_path).endswith(
        r"/caf\xe9.pdf: has a name that is not valid UTF-8; rename it"
    )


def test_a_folder_whose_name_is_not_utf8_is_one_entry(tmp_path):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    for name in (b"a.pdf", b"b.pdf"):
        with open(folder + b"/" + name, "wb"):
            pass
    assert problem(tmp_path).endswith(r"/caf\xe9: has a name that is not valid UTF-8; rename it")


@pytest.mark.parametrize("path", ["a\0b.pdf", "\ud800.pdf", "n" * 5000 + ".pdf"])
def test_a_path_that_can_never_exist_is_an_entry(path):
    assert isinstance(next(find_files([path])), PageError)


def test_pipes_sockets_and_devices_are_never_opened(tmp_path):
    os.mkfifo(tmp_path / "a.pdf")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "b.pdf"))
        entries = list(find_files([tmp_path, "/dev/null"]))
    assert [entry.reason for entry in entries] == ["is a named pipe", "is a socket", "is a device"]


def test_an_unreadable_folder_is_an_entry(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    file = touch(tmp_path / "closed" / "a.pdf")
    file.parent.chmod(0)
    try:
        assert "closed: can't be read (permission denied)" in problem(tmp_path)
    finally:
        file.parent.chmod(0o700)
