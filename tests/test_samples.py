"""The documents shipped with the package: written by `examples/make_samples.py`, labelled right."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
from PIL import Image, ImageSequence

pytest.importorskip("fpdf", reason="needs fpdf2 (dev)")

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "src" / "docpruner" / "samples"
PARTS = ROOT / "examples" / "samples"
PAGES = {
    "annual-report.pdf": 13,
    "product-launch-slides.pdf": 9,
    "tidal-energy-article.pdf": 5,
    "travel-expense-form.pdf": 2,
    "landlord-letter-scan.tiff": 2,
    "site-plan.png": 1,
}
PDFS = [name for name in PAGES if name.endswith(".pdf")]
PICTURES = [name for name in PAGES if name not in PDFS]
LISTS = ["queries.jsonl", "qrels.jsonl"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    script = ROOT / "examples" / "make_samples.py"
    subprocess.run([sys.executable, "-W", "error", str(script), str(folder)], check=True)
    return folder


def texts(path: Path) -> list[str]:
    with pypdfium2.PdfDocument(path) as document:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


def drawn(path: Path) -> list[np.ndarray]:
    with pypdfium2.PdfDocument(path) as document:
        return [page.render(scale=0.5).to_numpy() for page in document]


def frames(path: Path) -> list[Image.Image]:
    with Image.open(path) as image:
        return [frame.convert("L") for frame in ImageSequence.Iterator(image)]


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (SHIPPED / name).read_text("utf-8").splitlines()]


# What is shipped is what the script writes. Files are compared by what they show and not by their
# bytes, because another zlib compresses the same page differently.


def test_no_file_is_missing_or_left_over(written):
    assert {path.name for path in SHIPPED.iterdir()} == {path.name for path in written.iterdir()}
    assert {path.name for path in written.iterdir()} == {*PAGES, *LISTS}


@pytest.mark.parametrize("name", LISTS)
def test_shipped_lists_are_the_scripts(written, name):
    assert (SHIPPED / name).read_text("utf-8") == (written / name).read_text("utf-8")


@pytest.mark.parametrize("name", PDFS)
def test_shipped_pdfs_are_the_scripts(written, name):
    assert texts(SHIPPED / name) == texts(written / name)
    for ours, theirs in zip(drawn(SHIPPED / name), drawn(written / name), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", PICTURES)
def test_shipped_pictures_are_the_scripts(written, name):
    """Means of 8 × 8 pixels: another FreeType may smooth a letter's edge differently."""
    for ours, theirs in zip(frames(SHIPPED / name), frames(written / name), strict=True):
        assert ours.size == theirs.size
        ours, theirs = (np.asarray(image.reduce(8), dtype=int) for image in (ours, theirs))
        assert np.abs(ours - theirs).max() < 24


@pytest.mark.parametrize(("name", "count"), PAGES.items())
def test_page_counts(name, count):
    pages = texts(SHIPPED / name) if name in PDFS else frames(SHIPPED / name)
    assert len(pages) == count


def test_samples_are_small():
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 500_000


def test_the_scan_is_only_pixels():
    """No text layer, and no words beside the picture: neither a description nor a plain string."""
    path = SHIPPED / "landlord-letter-scan.tiff"
    with Image.open(path) as scan:
        assert scan.mode == "1"
        assert not any(isinstance(value, str) for value in scan.tag_v2.values())
    assert b"Hollis" not in path.read_bytes()


def test_every_label_names_a_query_a_document_and_a_page():
    queries = [row["query_id"] for row in rows("queries.jsonl")]
    assert len(queries) == len(set(queries)) >= 24
    labels = rows("qrels.jsonl")
    assert {label["query_id"] for label in labels} == set(queries)
    for label in labels:
        assert list(label) == ["query_id", "doc", "page", "relevance"]
        assert 1 <= label["page"] <= PAGES[label["doc"]]
        assert label["relevance"] == 1


def test_the_answers_stand_on_the_pages_that_the_labels_name():
    questions = runpy.run_path(str(PARTS / "questions.py"))["QUESTIONS"]
    pages = {name: texts(SHIPPED / name) for name in PDFS}
    for question, document, answers in questions:
        for page, answer in answers.items():
            if document in PDFS:
                assert answer in pages[document][page - 1], f"{question} ({document}#{page})"


def test_the_figures_of_the_report_add_up():
    """Three tables and two charts tell of the same money."""
    report = runpy.run_path(str(PARTS / "report_content.py"))
    key = {name.removeprefix("*"): row for name, *row in report["KEY_FIGURES"]}

    def amounts(name):
        return [float(text.strip("()")) for text in key[name]]

    revenue = [sum(regions) for regions in report["REVENUE"].values()]
    costs = [sum(year) for year in zip(*report["COSTS"].values(), strict=True)]
    assert revenue == pytest.approx(amounts("Revenue"))
    assert costs == pytest.approx(amounts("Operating costs"))
    profit = np.subtract(revenue, costs)
    assert profit == pytest.approx(amounts("Operating profit"))
    net = profit - amounts("Net interest") - amounts("Tax")
    assert net == pytest.approx(amounts("Net profit"))
    assert [f"{value / 34:.2f}" for value in net] == key["Earnings"]
    assert np.subtract(amounts("Loans"), amounts("Cash")) == pytest.approx(amounts("Net debt"))
