"""`docpruner list`, `docpruner metadata`, and what `docpruner index` says of documents that moved,
are gone, or have other metadata now."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli_process import docpruner, write_pdf

LINES = {
    "2023/report.pdf": "The harbour was dredged",
    "2024/report.pdf": "The lighthouse was painted",
    "tides.pdf": "Tides rise twice a day",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for name, line in LINES.items():
        write_pdf(folder / "docs" / name, line)
    assert docpruner("index", "my.idx", "docs", at=folder).returncode == 0
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A copy to change; its index knows the files of the original."""
    shutil.copytree(made / "my.idx", tmp_path / "my.idx")
    return tmp_path


@pytest.fixture
def own(tmp_path) -> Path:
    """Documents and an index to change."""
    for name, line in LINES.items():
        write_pdf(tmp_path / "docs" / name, line)
    assert docpruner("index", "my.idx", "docs", at=tmp_path).returncode == 0
    return tmp_path


def metadata_of(folder: Path) -> dict[str, dict[str, str]]:
    listed = json.loads(docpruner("list", "my.idx", "--json", at=folder).stdout)
    return {Path(entry["document"]).name: entry["metadata"] for entry in listed}


def test_list_shows_documents_pages_and_metadata(made):
    everything = docpruner("list", "my.idx", at=made)
    assert everything.returncode == 0
    rows = [line.split() for line in everything.stdout.splitlines() if ".pdf" in line]
    assert rows == [
        ["docs/2023/report.pdf", "1"],
        ["docs/2024/report.pdf", "1"],
        ["docs/tides.pdf", "1"],
    ]
    some = json.loads(docpruner("list", "my.idx", "2024/*", "--json", at=made).stdout)
    assert some == [
        {
            "document": str(made / "docs/2024/report.pdf"),
            "pages": 1,
            "metadata": {},
            "file_is_gone": False,
        }
    ]
    none = docpruner("list", "my.idx", "nothing*", at=made)
    assert (none.returncode, none.stdout) == (4, "No document fits nothing*\n")


def test_metadata_is_shown_set_and_removed_without_encoding(folder):
    first = docpruner("metadata", "my.idx", "report.pdf", "-m", "year=2024", "-m", "a=b", at=folder)
    assert first.returncode == 0
    assert "2 documents changed" in first.stdout
    again = docpruner("metadata", "my.idx", "2024/report.pdf", "-m", "a=", "-m", "c=d", at=folder)
    assert "year=2024, c=d" in again.stdout
    assert "1 document changed" in again.stdout
    told = json.loads(docpruner("metadata", "my.idx", "*", "--json", at=folder).stdout)
    assert told["changed"] == []
    assert [entry["metadata"] for entry in told["documents"]] == [
        {"year": "2024", "a": "b"},
        {"year": "2024", "c": "d"},
        {},
    ]
    unknown = docpruner("metadata", "my.idx", "nowhere.pdf", "-m", "a=b", at=folder)
    assert (unknown.returncode, unknown.stdout) == (4, "No document fits nowhere.pdf\n")


def test_a_csv_file_gives_metadata_and_rows_that_fit_nothing_are_told(own):
    (own / "about.csv").write_text("path,year,kind\n2024/report.pdf,2024,report\nmoon.pdf,1969,\n")
    options = ("--metadata-file", "about.csv", "-m", "owner=harbour")
    done = docpruner("index", "my.idx", "docs", *options, at=own)
    assert done.returncode == 0
    assert "metadata of 3 documents changed" in done.stdout
    assert "about.csv names 1 document that the index doesn't have: moon.pdf" in done.stderr
    listed = json.loads(docpruner("list", "my.idx", "--json", at=own).stdout)
    assert [entry["metadata"] for entry in listed] == [
        {"owner": "harbour"},
        {"owner": "harbour", "year": "2024", "kind": "report"},
        {"owner": "harbour"},
    ]


def test_moved_documents_are_told(own):
    (own / "docs/2023/report.pdf").rename(own / "docs/older.pdf")
    (own / "docs/tides.pdf").rename(own / "docs/2023/tides.pdf")
    done = docpruner("index", "my.idx", "docs", at=own)
    assert done.returncode == 0
    assert "my.idx: 2 documents moved, 1 unchanged\n" in done.stdout
    assert set(metadata_of(own)) == {"older.pdf", "report.pdf", "tides.pdf"}


def test_documents_whose_files_are_gone_are_listed_and_removed_only_if_asked(own):
    (own / "docs/tides.pdf").unlink()
    told = docpruner("index", "my.idx", "docs", at=own)
    assert told.returncode == 0
    assert "gone docs/tides.pdf\n" in told.stdout
    assert "1 document in the index whose file no longer exists; --delete-missing" in told.stdout
    assert "docs/tides.pdf (gone)" in docpruner("list", "my.idx", at=own).stdout
    hits = json.loads(docpruner("search", "my.idx", "tides", "--json", at=own).stdout)["hits"]
    assert [hit["file_is_gone"] for hit in hits] == [True, False, False]
    assert "(file is gone)" in docpruner("search", "my.idx", "tides", at=own).stdout
    removed = docpruner("index", "my.idx", "docs", "--delete-missing", at=own)
    assert "removed docs/tides.pdf\n" in removed.stdout
    assert "1 document removed, because the file no longer exists" in removed.stdout
    assert set(metadata_of(own)) == {"report.pdf"}
    event = docpruner("index", "my.idx", "docs", "--json", at=own).stdout.splitlines()[-1]
    assert (json.loads(event)["missing"], json.loads(event)["deleted"]) == ([], [])


def test_an_empty_path_names_nothing(made):
    done = docpruner("index", "my.idx", "", at=made)
    assert done.returncode == 1
    assert "an empty path names nothing; give a file or a folder" in done.stderr
