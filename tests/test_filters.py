"""Which documents a filter means, and how people write it."""

from __future__ import annotations

import pytest

from docpruner.search.filters import matching
from docpruner.types import Filter
from docpruner.types import fits as fits_glob

REPORT, NOTES = "/data/2024/report.pdf", "/data/2023/notes [old].pdf"


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("report.pdf", True),
        ("rep*", True),
        ("2024/report.pdf", True),
        ("data/*.pdf", True),
        ("/data/2024/report.pdf", True),
        ("/data/*", True),
        ("r?port.[pq]df", True),
        ("port.pdf", False),
        ("24/report.pdf", False),
        ("report", False),
        ("Report.pdf", False),
        ("2024", False),
        ("/report.pdf", False),
    ],
)
def test_a_glob_is_of_the_name_the_last_parts_or_the_whole_path(glob, fits):
    assert fits_glob(REPORT, glob) is fits


@pytest.mark.parametrize("glob", [NOTES, "notes [old].pdf", "notes [[]old].pdf", "notes*"])
def test_a_path_fits_itself_whatever_its_signs_mean_in_a_glob(glob):
    assert fits_glob(NOTES, glob)


def test_a_document_called_as_a_glob_is_what_the_glob_means():
    names = ["/a/report1.pdf", "/a/report[1].pdf", "/b/report1.pdf"]
    assert matching(names, ["report[1].pdf"]) == ["/a/report[1].pdf"]
    assert matching(names[:1] + names[2:], ["report[1].pdf"]) == [
        "/a/report1.pdf",
        "/b/report1.pdf",
    ]
    assert matching(names, ["a/*", "report1.pdf"]) == names


def test_accents_are_the_same_however_they_are_encoded():
    composed, decomposed = "caf\u00e9.pdf", "cafe\u0301.pdf"
    assert fits_glob(f"/menu/{decomposed}", composed)
    assert fits_glob(f"/menu/{composed}", decomposed)
    assert fits_glob(f"/menu/{decomposed}", "caf\u00e9*")
    assert matching([decomposed], [composed]) == [decomposed]


@pytest.mark.parametrize(
    ("own", "asked", "same"),
    [
        (2024, "2024", True),
        ("2024", 2024, True),
        (2024, 2024.0, False),
        (True, "true", True),
        ("en", "EN", False),
        (["a", 2], "a", True),
        (["a", 2], 2, True),
        (["a", 2], ["a", 2], True),
        ([], "", False),
    ],
)
def test_metadata_is_compared_as_text_and_a_list_by_its_values(own, asked, same):
    assert Filter(metadata={"key": asked}).allows("a.pdf", {"key": own}) is same
