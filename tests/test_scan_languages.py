"""Scans in languages that tesseract is asked to read, from the command line to the hit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli_process import docpruner, write_pdf
from docpruner import Index
from docpruner.errors import OcrError
from evaluate.made_data import builtin
from pages.languages import GREEK, RUSSIAN, needs, printed
from pages.made import LINE


@pytest.fixture
def folder(tmp_path) -> Path:
    """Scans in Russian and English, and a page with a text layer."""
    write_pdf(tmp_path / "docs" / "ferry.pdf", "The ferry leaves the quay at noon")
    printed(RUSSIAN).save(tmp_path / "docs" / "winter.pdf")
    printed(LINE).save(tmp_path / "docs" / "report.png")
    return tmp_path


def indexed(folder: Path, *options: str) -> dict[str, object]:
    done = docpruner("index", "my.idx", "docs", "--json", *options, at=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    return {name: told[name] for name in ("documents", "pages", "without_words")}


def best(folder: Path, *arguments: str) -> str:
    done = docpruner("search", "my.idx", *arguments, "-k", "1", "--json", at=folder)
    assert done.returncode == 0, done.stderr
    (hit,) = json.loads(done.stdout)["hits"]
    return Path(hit["document"]).name


@needs("rus", "eng")
def test_a_russian_scan_is_found_by_a_russian_word(folder):
    told = indexed(folder, "--ocr-language", "rus+eng")
    assert told == {"documents": {"added": 3}, "pages": 3, "without_words": 0}
    assert best(folder, "паромов") == "winter.pdf"
    assert best(folder, "расписание", "--mode", "text") == "winter.pdf"
    assert best(folder, "harbour report") == "report.png"
    told = indexed(folder, "--ocr-language", "rus+eng")
    assert told == {"documents": {"unchanged": 3}, "pages": 0, "without_words": 0}


@needs("ell")
def test_a_greek_scan_is_found_by_a_greek_word(folder):
    printed(GREEK).save(folder / "docs" / "boat.png")
    indexed(folder, "--ocr-language", "ell")
    assert best(folder, "καράβι", "--mode", "text") == "boat.png"


@needs("rus", "eng")
def test_scans_that_are_in_without_words_get_theirs(folder):
    assert indexed(folder, "--no-ocr")["without_words"] == 2
    assert indexed(folder, "--ocr-language", "rus+eng") == {
        "documents": {"completed": 2, "unchanged": 1},
        "pages": 2,
        "without_words": 0,
    }
    with Index.open(folder / "my.idx") as index:
        assert index.search("зиму", k=1)[0].text == RUSSIAN


@needs("rus")
def test_a_picture_of_russian_words_is_searched_for(folder):
    indexed(folder, "--ocr-language", "rus")
    printed("паромов").save(folder / "query.png")
    arguments = ("--image", "query.png", "--ocr-language", "rus")
    assert best(folder, *arguments) == "winter.pdf"


@needs("rus")
def test_pictures_in_memory_are_read_in_a_language_and_again_only_without_words():
    picture = printed(RUSSIAN)
    with Index.create(None, encoder=builtin()) as index:
        assert index.add_images([picture], names=["a"], ocr=False).without_words == 1
        assert index.add_images([picture], names=["a"], ocr="rus").documents == {"completed": 1}
        assert index.add_images([picture], names=["a"], ocr="rus").documents == {"unchanged": 1}
        (hit,) = index.search("паромов", k=1)
        assert hit.text == RUSSIAN
        with pytest.raises(OcrError, match="'' is no language of tesseract"):
            index.add_images([picture], ocr="")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("index", "my.idx", "docs", "--no-ocr", "--ocr-language", "rus"), 1, "--no-ocr and --oc"),
        (
            ("explain", "docs/report.png", "--no-ocr", "--ocr-language", "rus"),
            1,
            "--no-ocr and --oc",
        ),
        (("index", "my.idx", "docs", "--ocr-language", "rus;ls"), 1, "'rus;ls' is no language of"),
        (("index", "my.idx", "docs", "--ocr-language", "rus"), 1, "needs the program tesseract"),
        (("explain", "docs/report.png", "--ocr-language", "rus"), 1, "needs the program tesseract"),
        (("search", "my.idx", "x", "--ocr-language", "rus"), 2, "--ocr-language recognises the"),
    ],
)
def test_what_can_not_be_is_said_in_one_line(folder, arguments, status, said):
    """On a machine without tesseract."""
    done = docpruner(*arguments, at=folder, env={"PATH": str(folder)})
    assert done.returncode == status
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_doctor_tells_whether_tesseract_is_there(tmp_path):
    def told(path: str) -> dict[str, str]:
        done = docpruner("doctor", "--json", env={"PATH": path})
        (row,) = (row for row in json.loads(done.stdout) if row["what"] == "tesseract")
        return row

    missing = told(str(tmp_path))
    assert missing["found"] == "not installed"
    assert "apt-get install tesseract-ocr tesseract-ocr-rus" in missing["remedy"]
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\ntest $1 = --version && echo tesseract 5.3.0\n")
    program.chmod(0o755)
    assert told(str(tmp_path))["found"] == "broken"
    program.write_text(
        "#!/bin/sh\nif test $1 = --version; then echo tesseract 5.3.0; else\n"
        "printf 'Languages:\\nrus\\nosd\\neng\\n'; fi\n"
    )
    there = told(f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (there["found"], there["why"]) == ("installed", "tesseract 5.3.0: eng, rus")
