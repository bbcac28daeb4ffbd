"""`docpruner explain` as a user runs it: real processes, real pictures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fpdf import FPDF
from PIL import Image

import docpruner as docpruner_package

SAMPLES = Path(docpruner_package.__file__).parent / "samples"
LEASE = "What does it cost to lease the cargo bike?"


def explain(*arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docpruner", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=at)


def told(*arguments: str, at: Path) -> dict:
    done = explain(*arguments, "--json", at=at)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        return picture.size


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Documents, and three indexes of them."""
    folder = tmp_path_factory.mktemp("explain")
    for name in ("product-launch-slides.pdf", "site-plan.png", "travel-expense-form.pdf"):
        shutil.copy(SAMPLES / name, folder)
    slides = ["product-launch-slides.pdf"]
    for index, files, options in (
        ("my.idx", [*slides, "site-plan.png"], ["--no-ocr"]),
        ("merged.idx", slides, ["--spec", "docpruner:k=-0.25+sem-cluster:factor=4"]),
        ("pooled.idx", slides, ["--spec", "pool-2d:factor=16"]),
        ("bare.idx", ["travel-expense-form.pdf"], ["--no-importances"]),
    ):
        command = [sys.executable, "-m", "docpruner", "index", index, *files, *options]
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
    return folder


# ---------------------------------------------------------------------- a file


def test_a_page_of_a_file(folder):
    shown = explain("product-launch-slides.pdf", "--page", "8", at=folder)
    assert shown.returncode == 0
    assert shown.stdout.startswith("product-launch-slides-p8.png\n")
    assert re.search(r"reduction +docpruner:k=-0\.25", shown.stdout)
    assert re.search(r"kept +\d+ \(\d\d%\)", shown.stdout)
    width, height = size_of(folder / "product-launch-slides-p8.png")
    assert 1.4 < width / height < 1.8  # a slide, with a legend below


def test_a_page_for_programs_and_a_stricter_k(folder):
    page = ("product-launch-slides.pdf", "--page", "8", "-o", "out/page.png")
    usual = told(*page, at=folder)
    strict = told(*page, "--k", "0.5", at=folder)
    assert usual["pictures"] == ["out/page.png"]
    assert (usual["page"], strict["spec"]) == (8, "docpruner:k=0.5")
    assert strict["kept"] < usual["kept"] < usual["patches"]
    for figures, k in ((usual, -0.25), (strict, 0.5)):
        assert figures["tau"] == pytest.approx(figures["mean"] + k * figures["deviation"], 1e-4)
    assert told(*page, "--spec", "docpruner:k=0.5", at=folder) == strict


def test_a_document_is_a_sheet_and_an_image_a_page(folder):
    sheet = told("product-launch-slides.pdf", "-o", "sheet.png", at=folder)
    assert [entry["page"] for entry in sheet["pages"]] == list(range(1, 10))
    assert size_of(folder / "sheet.png")[0] <= 1600
    part = told("product-launch-slides.pdf", "--pages", "8-", "-o", "part.png", at=folder)
    assert [entry["page"] for entry in part["pages"]] == [8, 9]
    alone = told("travel-expense-form.pdf", "--pages", "1", "-o", "form.png", at=folder)
    assert alone["page"] == 1


def test_pages_without_words_are_left_out_of_a_sheet(tmp_path):
    document = FPDF()
    document.set_font("helvetica")
    for text in ("ships and tides", ""):
        document.add_page()
        document.text(20, 40, text)
    document.output(str(tmp_path / "mixed.pdf"))
    shown = explain("mixed.pdf", "--no-ocr", at=tmp_path)
    assert shown.returncode == 3
    assert "left out" in shown.stderr
    assert "add --ocr" in shown.stderr
    assert "1, 1 left out" in shown.stdout
    size_of(tmp_path / "mixed-pages.png")


def test_a_long_document_takes_several_sheets(tmp_path):
    document = FPDF()
    document.set_font("helvetica")
    for number in range(61):
        document.add_page()
        document.text(20, 40, f"page {number}")
    document.output(str(tmp_path / "long.pdf"))
    drawn = told("long.pdf", "-o", "out.png", at=tmp_path)
    assert drawn["pictures"] == ["out-1.png", "out-2.png"]
    heights = [size_of(tmp_path / picture)[1] for picture in drawn["pictures"]]
    assert max(heights) < 1.3 * min(heights)  # 30 and 31 pages, not 60 and 1


def test_the_words_of_a_scan(folder):
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")
    drawn = told("site-plan.png", "-o", "plan.png", at=folder)
    assert drawn["patches"] > 50
    size_of(folder / "plan.png")


# ---------------------------------------------------------------------- an index


def test_a_page_of_an_index_is_as_that_of_the_file(folder):
    """The same figures, and the same picture but for boxes that are stored rounded."""
    stored = told("my.idx", "--page", "product-launch-slides.pdf#8", "-o", "a.png", at=folder)
    fresh = told("product-launch-slides.pdf", "--page", "8", "-o", "b.png", at=folder)
    assert {**stored, "pictures": fresh["pictures"]} == fresh
    one, other = (np.asarray(Image.open(folder / name), int) for name in ("a.png", "b.png"))
    assert (one != other).mean() < 0.01


@pytest.mark.parametrize("k", ["-1", "0.25"])
def test_what_if_from_stored_importances(folder, k):
    page = ("--page", "product*#8", "--k", k, "-o", "what-if.png")
    stored = told("my.idx", *page, at=folder)
    fresh = told("product-launch-slides.pdf", "--page", "8", *page[2:], at=folder)
    assert stored == fresh


def test_a_document_of_an_index(folder):
    drawn = told("merged.idx", "--page", "product-launch-slides.pdf", "-o", "all.png", at=folder)
    assert len(drawn["pages"]) == 9
    assert all(page["vectors"] < page["kept"] for page in drawn["pages"])


# ---------------------------------------------------------------------- a hit


def test_what_answers_a_query(folder):
    shown = explain("my.idx", "--hit", LEASE, at=folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("product-launch-slides-p8-match.png\n")
    assert re.search(r"lease +1\.\d\d +1 +Lease", shown.stdout)
    size_of(folder / "product-launch-slides-p8-match.png")


def test_hits_for_programs(folder):
    drawn = told("my.idx", "--hit", LEASE, "-k", "2", "--word", "bike", "-o", "hit.png", at=folder)
    assert drawn["pictures"] == ["hit-1.png", "hit-2.png"]
    best = drawn["hits"][0]
    assert (best["page"], best["picture"]) == (8, "hit-1.png")
    assert sum(word["score"] for word in best["words"]) == pytest.approx(best["score"], abs=0.01)
    lease = next(word for word in best["words"] if word["word"] == "lease")
    assert (lease["answered_by"], lease["patches"], len(lease["boxes"])) == ("Lease", 1, 1)
    assert (folder / "hit-1.png").read_bytes() != (folder / "hit-2.png").read_bytes()


@pytest.mark.parametrize("index", ["merged.idx", "pooled.idx"])
def test_a_merged_vector_answers_with_all_its_patches(folder, index):
    (hit,) = told(index, "--hit", LEASE, "-o", "merged.png", at=folder)["hits"]
    assert any(len(word["boxes"]) == word["patches"] > 1 for word in hit["words"])


def test_how_a_given_page_answers(folder):
    page = ("--page", "product-launch-slides.pdf#2", "-o", "given.png")
    (hit,) = told("my.idx", "--hit", LEASE, *page, at=folder)["hits"]
    assert hit["page"] == 2


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.pdf"], "nowhere.pdf: does not exist; check the path"),
        (["product-launch-slides.pdf", "--page", "10"], "#10: has only 9 pages; ask for one"),
        (["product-launch-slides.pdf", "--page", "0"], "#0: has only 9 pages; ask for one"),
        (["product-launch-slides.pdf", "--page", "two"], "--page two is not a page number"),
        (["product-launch-slides.pdf", "--pages", "12-"], "#12: has only 9 pages; ask for one"),
        (["product-launch-slides.pdf", "--k", "1", "--spec", "none"], "give one of the two"),
        (["product-launch-slides.pdf", "-k", "1"], "the factor of DocPruner is --k"),
        (["product-launch-slides.pdf", "--hit", "x"], "--hit needs an index; make one with"),
        (["product-launch-slides.pdf", "-o", "out.txt"], "end it in .png"),
        (["site-plan.png", "--ocr", "-o", "site-plan.png"], "is the document itself"),
        (
            ["site-plan.png", "--no-ocr"],
            "has no words, and builtin-v2 reads nothing else; add --ocr",
        ),
        (["."], "is a folder without an index"),
        (["my.idx"], "say which page to draw (--page product-launch-slides.pdf#1)"),
        (["my.idx", "--page", "other.pdf#1"], "no document other.pdf in my.idx"),
        (["my.idx", "--page", "product*#10"], "#10: has only 9 pages; ask for one from 1 to 9"),
        (["my.idx", "--page", "*"], "* fits 2 documents"),
        (["my.idx", "--page", "site-plan.png#1"], "was indexed without words; recognise them"),
        (["my.idx", "--page", "product*#8", "--ocr"], "--ocr is for files"),
        (["my.idx", "--page", "product*#8", "--no-ocr"], "--no-ocr is for files"),
        (
            ["my.idx", "--page", "product*#8", "--ocr-language", "rus"],
            "--ocr-language is for files",
        ),
        (["my.idx", "--page", "product*#8", "--spec", "sem-cluster"], "looks at vectors"),
        (["my.idx", "--hit", "bike", "--word", "ship"], "no word 'ship' in the query; it has"),
        (["my.idx", "--hit", "bike", "--k", "1"], "leave out --k and --spec"),
        (["bare.idx", "--page", "travel*#1", "--k", "1"], "made without the importances"),
    ],
)
def test_errors_are_one_line_and_say_what_to_do(folder, arguments, said):
    done = explain(*arguments, at=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_without_importances_there_is_still_what_was_kept(folder):
    drawn = told("bare.idx", "--page", "travel-expense-form.pdf#1", "-o", "bare.png", at=folder)
    assert drawn["tau"] is drawn["entropy"] is None
    assert 0 < drawn["kept"] < drawn["patches"]


def test_a_file_that_is_gone_or_has_changed(folder, tmp_path):
    for name in ("my.idx", "product-launch-slides.pdf"):
        copy = shutil.copytree if (folder / name).is_dir() else shutil.copy
        copy(folder / name, tmp_path / name)
    document = tmp_path / "travel.pdf"
    shutil.copy(folder / "travel-expense-form.pdf", document)
    command = [sys.executable, "-m", "docpruner", "index", "my.idx", "travel.pdf"]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    shutil.copy(folder / "product-launch-slides.pdf", document)
    changed = explain("my.idx", "--page", "travel.pdf#1", at=tmp_path)
    assert changed.returncode == 0
    assert "has changed since it was indexed, so the picture may be wrong" in changed.stderr
    document.unlink()
    gone = explain("my.idx", "--page", "travel.pdf#1", at=tmp_path)
    assert gone.returncode == 1
    assert "is gone since it was indexed; put it back, or take it out" in gone.stderr


def test_an_empty_index_has_no_hit(tmp_path):
    command = [sys.executable, "-m", "docpruner", "index", "none.idx", "nowhere.pdf"]
    subprocess.run(command, check=False, cwd=tmp_path, capture_output=True)
    shown = explain("none.idx", "--hit", "bike", at=tmp_path)
    assert (shown.returncode, shown.stdout[:15]) == (4, "No page to show")
