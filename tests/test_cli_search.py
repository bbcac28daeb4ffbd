"""Searches and changes that people got wrong answers from, or could not take back."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from cli_process import docpruner, write_pdf
from docpruner.cli.hit_tables import told_apart
from pages.made import crafted_pdf

LINES = {
    "2023/report.pdf": "The harbour was dredged at low tide",
    "2024/report.pdf": "The lighthouse was painted white and red",
    "report[1].pdf": "Ferries leave the northern quay every hour",
    "report1.pdf": "Cranes lift containers off the largest ships",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    for name, line in LINES.items():
        write_pdf(folder / "docs" / name, line)
    assert docpruner("index", "my.idx", "docs", at=folder).returncode == 0
    return folder


@pytest.fixture
def copy(folder, tmp_path) -> Path:
    """An index to change, of the same documents."""
    shutil.copytree(folder / "my.idx", tmp_path / "my.idx")
    return tmp_path


# ------------------------------------------------------------------ by picture


@pytest.fixture(scope="module")
def crop(folder) -> Path:
    """A picture of some words."""
    picture = Image.new("RGB", (640, 80), "white")
    ImageDraw.Draw(picture).text((20, 15), "lighthouse painted white", "black", font_size=44)
    picture.save(folder / "crop.png")
    return folder / "crop.png"


def test_the_built_in_encoder_says_why_it_sees_no_picture(folder, crop):
    done = docpruner("search", "my.idx", "--image", str(crop), at=folder)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "builtin-v2 reads words only; searching by image needs an encoder that sees" in said
    assert "--ocr" in said


def test_the_words_on_a_picture_are_searched_for(folder, crop):
    pytest.importorskip("rapidocr", reason='needs "docpruner[ocr]"')
    done = docpruner("search", "my.idx", "--image", crop.name, "--ocr", "--json", at=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["query"].split() == ["lighthouse", "painted", "white"]
    assert told["image"] == "crop.png"
    assert told["hits"][0]["document"].endswith("2024/report.pdf")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 2, "give a QUERY or an --image"),
        (("tide", "--image", "crop.png"), 2, "one of the two"),
        (("tide", "--ocr"), 2, "--ocr recognises the words on an --image"),
        (("--image", "gone.png"), 1, "gone.png"),
        (("--image", "docs"), 1, "docs"),
    ],
)
def test_what_can_t_be_searched_by_is_said(crop, arguments, status, said):
    done = docpruner("search", "my.idx", *arguments, at=crop.parent)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


# ------------------------------------------------------------------ what matches


@pytest.mark.parametrize("query", ["\U0001f600", "chocolate cake", "the"])
def test_a_query_that_nothing_matches_is_told_so(folder, query):
    done = docpruner("search", "my.idx", query, at=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing really matches; these pages come nearest:\n")
    assert done.stdout.count("nothing really") == len(LINES)
    assert "→" not in done.stdout
    hits = json.loads(docpruner("search", "my.idx", query, "--json", at=folder).stdout)["hits"]
    assert not any(hit["really_matches"] for hit in hits)


def test_a_query_that_something_matches_is_not(folder):
    done = docpruner("search", "my.idx", "Who painted the lighthouse?", at=folder)
    assert "Nothing" not in done.stdout
    first, *others = [line for line in done.stdout.splitlines() if ".pdf" in line]
    assert "lighthouse  painted" in first
    assert all("nothing really" in line for line in others)


def test_a_search_by_text_finds_words_and_nothing_else(folder):
    done = docpruner("search", "my.idx", "lighthouse", "--mode", "text", "--json", at=folder)
    answer = json.loads(done.stdout)
    assert answer["mode"] == "text"
    (hit,) = answer["hits"]
    assert hit["snippet"] == LINES["2024/report.pdf"]
    assert hit["really_matches"]
    assert docpruner("search", "my.idx", "beacon", "--mode", "text", at=folder).returncode == 4
    done = docpruner("search", "my.idx", "lighthouse", "--mode", "hybrid", "--json", at=folder)
    hits = json.loads(done.stdout)["hits"]
    assert hits[0]["document"].endswith("2024/report.pdf")
    assert len(hits) == len(LINES)
    done = docpruner("search", "my.idx", "a", "--mode", "both", at=folder)
    assert done.returncode == 2


def test_an_index_without_text_says_so(folder):
    assert docpruner("index", "no.idx", "docs", "--no-text", at=folder).returncode == 0
    done = docpruner("search", "no.idx", "tide", "--mode", "text", at=folder)
    assert done.returncode == 1
    assert "no.idx has no words stored, by --no-text" in done.stderr
    assert "not stored (--no-text)" in docpruner("stats", "no.idx", at=folder).stdout
    assert "a page, with its full-text index" in docpruner("stats", "my.idx", at=folder).stdout
    hits = json.loads(docpruner("search", "no.idx", "tide", "--json", at=folder).stdout)["hits"]
    assert hits[0]["snippet"] == LINES["2023/report.pdf"]  # read from the file


def test_pages_below_a_score_can_be_left_out(folder):
    found = docpruner("search", "my.idx", "lighthouse", "--json", at=folder)
    scores = [hit["score"] for hit in json.loads(found.stdout)["hits"]]
    least = str((scores[0] + scores[1]) / 2)
    some = docpruner("search", "my.idx", "lighthouse", "--min-score", least, at=folder)
    assert some.stdout.count(".pdf") == 1
    none = docpruner("search", "my.idx", "lighthouse", "--min-score", "99", at=folder)
    assert none.returncode == 4
    assert "are the filters or --min-score too strict" in none.stdout


def test_an_empty_query_asks_for_nothing(folder):
    for command in (["search", "my.idx", " "], ["explain", "my.idx", "--hit", ""]):
        done = docpruner(*command, at=folder)
        assert (done.returncode, done.stderr) == (
            1,
            "error: the query is empty; say what to look for\n",
        )


@pytest.mark.parametrize("query", ["lighthouse " * 10_000, "lighthouse" * 10_000])
def test_a_query_that_is_far_too_long_is_cut(folder, query):
    done = docpruner("search", "my.idx", query, "-k", "1", at=folder)
    assert done.returncode == 0
    assert f"the query has {len(query):,} characters; only the first" in done.stderr
    assert len(done.stdout) < 2000
    drawn = docpruner("explain", "my.idx", "--hit", query, "-o", "long.png", at=folder)
    assert drawn.returncode == 0
    assert len(drawn.stdout) < 3000


# ------------------------------------------------------------------ which document


def test_documents_are_told_apart_from_all_others_of_the_index():
    names = ["/a/x/report.pdf", "/b/x/report.pdf", "/c/notes.pdf", "report.pdf", "x/report.pdf"]
    assert told_apart(names, names) == {
        "/a/x/report.pdf": "a/x/report.pdf",
        "/b/x/report.pdf": "b/x/report.pdf",
        "/c/notes.pdf": "notes.pdf",
        "report.pdf": "report.pdf",
        "x/report.pdf": "x/report.pdf",
    }


def test_a_hit_is_told_from_its_namesake_that_is_no_hit(folder):
    done = docpruner("search", "my.idx", "lighthouse painted", "-k", "1", at=folder)
    assert " 2024/report.pdf " in done.stdout


def test_a_document_called_like_a_glob_is_meant_by_its_name(folder):
    for name in ("report[1].pdf", "report1.pdf"):
        removed = docpruner("delete", "my.idx", name, "--dry-run", at=folder)
        assert removed.stdout == f"would remove docs/{name}\n"
        page = ("--page", f"{name}#1", "-o", "glob.png", "--json")
        drawn = docpruner("explain", "my.idx", *page, at=folder)
        assert json.loads(drawn.stdout)["document"] == str(folder / "docs" / name)


# ------------------------------------------------------------------ pictures


def test_without_a_viewer_it_is_said_where_the_picture_is(folder):
    nothing = {"PATH": "/nowhere"}
    done = docpruner("search", "my.idx", "lighthouse", "--open", at=folder, env=nothing)
    assert done.returncode == 0
    path = done.stdout.splitlines()[-1]
    assert Path(path).read_bytes().startswith(b"\x89PNG")
    assert f"there is no program here to open pictures with; it is {path}" in done.stderr
    page = ("explain", "docs/report1.pdf", "--page", "1", "-o", "open.png", "--open")
    assert "it is open.png" in docpruner(*page, at=folder, env=nothing).stderr


def test_a_picture_replaces_another_only_where_that_was_asked_for(folder, tmp_path):
    page = ("explain", str(folder / "docs/report1.pdf"), "--page", "1")
    first, second = (docpruner(*page, at=tmp_path) for _ in range(2))
    assert first.stdout.splitlines()[0] == "report1-p1.png"
    assert second.stdout.splitlines()[0] == "report1-p1-2.png"
    assert "replaced" not in second.stderr
    named = [docpruner(*page, "-o", "mine.png", at=tmp_path) for _ in range(2)]
    assert [done.stderr for done in named] == ["", "replaced mine.png\n"]


# ------------------------------------------------------------------ adding


def test_an_index_larger_than_its_vectors_says_so(folder):
    shown = docpruner("stats", "my.idx", at=folder).stdout
    assert "larger than unpruned" in shown
    assert "-" not in shown.split("on disk")[1].splitlines()[0]
    options = ("--codec", "float32", "--spec", "none")
    added = docpruner("index", "large.idx", "docs", *options, at=folder)
    assert "14.3 kB larger than unpruned" in " ".join(added.stdout.split())


def test_ocr_is_not_advised_where_it_was_used(tmp_path):
    pytest.importorskip("rapidocr", reason="needs the ocr extra: pip install 'docpruner[ocr]'")
    Image.new("RGB", (300, 200), "white").save(tmp_path / "blank.png")
    done = docpruner("index", "my.idx", "blank.png", "--ocr", at=tmp_path)
    assert "1 page has no words, so this encoder can't find it; OCR found none" in done.stdout
    assert "--ocr" not in done.stdout


def test_a_page_that_stays_bad_completes_nothing(tmp_path):
    text = b"BT /F 20 Tf 20 100 Td (ships and tides) Tj ET"
    (tmp_path / "half.pdf").write_bytes(
        crafted_pdf(
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R 9 0 R]/Count 2>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R"
            b"/Resources<</Font<</F 5 0 R>>>>>>",
            b"<</Length %d>>stream\n%s\nendstream" % (len(text), text),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        )
    )
    runs = [docpruner("index", "my.idx", "half.pdf", at=tmp_path) for _ in range(3)]
    assert [done.returncode for done in runs] == [3, 3, 3]
    assert all("left out half.pdf#2" in done.stderr for done in runs)
    assert "1 document added" in runs[0].stdout
    for again in runs[1:]:
        assert again.stdout.splitlines()[0] == "my.idx: 1 document unchanged"


# ------------------------------------------------------------------ what can't be undone


def vectors(folder: Path) -> int:
    return int(json.loads(docpruner("stats", "my.idx", "--json", at=folder).stdout)["vectors"])


def answered(folder: Path, answer: str, *arguments: str) -> tuple[int, str]:
    """The command on a terminal, where somebody types an answer: its status and what it prints."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "docpruner", *arguments],
        cwd=folder,
        stdin=follower,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        os.close(follower)
        os.write(leader, f"{answer}\n".encode())
        printed, _ = process.communicate(timeout=120)
    os.close(leader)
    return process.returncode, printed


def test_pruning_asks_first_and_scripts_have_to_say_yes(copy):
    before = vectors(copy)
    command = ("prune", "my.idx", "docpruner:k=1e308")
    refused = docpruner(*command, at=copy)
    assert refused.returncode == 1
    assert "pruning can't be undone, and there is nobody to ask; add --yes" in refused.stderr
    tried = docpruner(*command, "--dry-run", at=copy)
    assert (tried.returncode, f"4 of {before} vectors would be kept" in tried.stdout) == (0, True)
    status, printed = answered(copy, "n", *command)
    assert (status, vectors(copy)) == (4, before)
    assert f"4 of {before} vectors would be kept" in printed
    assert "This can't be undone. Prune? [y/N]" in printed
    assert printed.endswith("Nothing was changed\n")
    status, printed = answered(copy, "y", *command)
    assert (status, vectors(copy)) == (0, 4)
    assert f"4 of {before} vectors kept" in printed


def test_yes_prunes_without_a_question(copy):
    done = docpruner("prune", "my.idx", "docpruner:k=0.5", "--yes", "--json", at=copy)
    assert done.returncode == 0
    assert json.loads(done.stdout)["vectors"] == vectors(copy)
