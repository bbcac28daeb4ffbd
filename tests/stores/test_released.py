"""An index that the released version 0.1.0 made opens, is searched, pruned and verified.

`released/` holds nine slides and a scanned letter that was read by OCR, from the sample documents.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docpruner import Index

RELEASED = Path(__file__).parent / "released"
SLIDES = "/documents/product-launch-slides.pdf"
LETTER = "/documents/landlord-letter-scan.tiff"


@pytest.fixture
def index(tmp_path):
    shutil.copytree(RELEASED, tmp_path / "index")
    with Index.open(tmp_path / "index") as opened:
        yield opened


def test_it_is_what_it_was(index):
    stats = index.stats()
    assert (stats.documents, stats.pages, stats.vectors, stats.vectors_unpruned) == (
        2,
        11,
        389,
        768,
    )
    assert stats.settings.version == "0.1.0"
    assert [entry.name for entry in index.documents()] == [LETTER, SLIDES]
    assert index.documents()[1].metadata == {"year": "2024"}
    assert index.verify() == []


def test_it_finds_what_it_found(index):
    hits = index.search("What does it cost to lease the cargo bike?", k=3)
    assert [(hit.document, hit.page) for hit in hits] == [(SLIDES, 8), (SLIDES, 7), (SLIDES, 5)]
    assert [hit.score for hit in hits] == pytest.approx([3.94798, 3.51751, 2.80464], abs=1e-3)
    first, *_ = index.search("When is the rent due?", metadata=None)
    assert (first.document, first.page) == (LETTER, 1)
    assert first.score == pytest.approx(1.43405, abs=1e-3)
    assert ("rent,",) in [match.found for match in first.matches]
    assert "Your flat at 8 Weavers Lane" in first.text
    assert index.search("lease", metadata={"year": 2024})[0].document == SLIDES


def test_it_is_written_to(index):
    assert index.prune("docpruner:k=0.25").after == 243
    assert index.update_metadata("*slides*", {"lang": "en"}) == [SLIDES]
    assert index.delete("*letter*") == [LETTER]
    index.compact()
    assert index.verify() == []
    assert index.search("cargo bike")[0].metadata == {"year": "2024", "lang": "en"}
