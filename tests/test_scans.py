"""What becomes of scans in an index: recognised by default, left alone on request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli_process import docpruner, write_pdf
from docpruner import Index
from evaluate.copies import ColourEncoder
from pages.made import LINE, scan

WITHOUT_THE_EXTRA = (
    "import sys; sys.modules['rapidocr'] = None; from docpruner.cli import main; main()"
)


@pytest.fixture(autouse=True)
def _installed():
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")


@pytest.fixture
def folder(tmp_path) -> Path:
    """A scan, and a page with a text layer."""
    write_pdf(tmp_path / "docs" / "ferry.pdf", "The ferry leaves the quay at noon")
    scan().save(tmp_path / "docs" / "scan.png")
    return tmp_path


def indexed(folder: Path, *options: str) -> dict[str, object]:
    done = docpruner("index", "my.idx", "docs", "--json", *options, at=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return {name: told[name] for name in ("documents", "pages", "without_words")}


def found(folder: Path) -> str:
    with Index.open(folder / "my.idx") as index:
        return index.search("quarterly report of the harbour", k=1)[0].text


def test_a_scan_is_recognised_and_found(folder):
    assert indexed(folder) == {"documents": {"added": 2}, "pages": 2, "without_words": 0}
    assert found(folder) == LINE
    assert indexed(folder) == {"documents": {"unchanged": 2}, "pages": 0, "without_words": 0}


def test_an_index_made_without_stays_as_it_is_until_ocr_is_asked_for(folder):
    assert indexed(folder, "--no-ocr")["without_words"] == 1
    assert found(folder) != LINE
    assert indexed(folder) == {"documents": {"unchanged": 2}, "pages": 0, "without_words": 0}
    told = indexed(folder, "--ocr")
    assert told == {
        "documents": {"completed": 1, "unchanged": 1},
        "pages": 1,
        "without_words": 0,
    }
    assert found(folder) == LINE


def test_a_changed_scan_is_recognised_in_an_index_made_without(folder):
    indexed(folder, "--no-ocr")
    scan().rotate(1, fillcolor="white").save(folder / "docs" / "scan.png")
    assert indexed(folder)["documents"] == {"replaced": 1, "unchanged": 1}
    assert found(folder) == LINE


def test_without_the_extra_scans_go_in_without_words_or_the_error_is_the_command(folder):
    command = [sys.executable, "-c", WITHOUT_THE_EXTRA, "index", "my.idx", "docs"]
    silent = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert "1 page has no words, so this encoder can't find it; --ocr" in silent.stdout
    asked = subprocess.run([*command, "--ocr"], cwd=folder, capture_output=True, text=True)
    assert asked.returncode == 1
    assert 'pip install "docpruner[ocr]"' in asked.stderr


def test_an_encoder_that_sees_pictures_has_no_words_recognised_unless_asked(folder):
    document = str((folder / "docs" / "scan.png").resolve())
    with Index.create(None, encoder=ColourEncoder(), spec="none") as index:
        index.add(folder / "docs")
        assert index.page(document, 1).words_from == "nowhere"
        assert index.add(folder / "docs", ocr=True).documents == {"unchanged": 2}
    with Index.create(None, encoder=ColourEncoder(), spec="none") as index:
        index.add(folder / "docs", ocr=True)
        assert index.page(document, 1).words_from == "ocr"
