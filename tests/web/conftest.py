from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import docpruner
from docpruner.facade import Index
from faults.library import pdf
from faults.words import WordEncoder
from web.running import Server, served, served_words

SAMPLES = Path(docpruner.__file__).parent / "samples"


@pytest.fixture(scope="session")
def samples_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the sample documents, by the built-in encoder; not to be changed."""
    folder = tmp_path_factory.mktemp("web") / "samples.idx"
    with Index.create(folder) as index:
        index.add(SAMPLES, ocr=False, metadata={"year": "2024"})
    return folder


@pytest.fixture(scope="session")
def server(samples_index: Path) -> Iterator[Server]:
    with served(samples_index, "--no-token") as running:
        yield running


def made_words_index(parent: Path) -> Path:
    """Small and quick: two PDFs, one below the other's folder, of the same name."""
    for folder in ("library", "library/older"):
        (parent / folder).mkdir()
        (parent / folder / "harbour.pdf").write_bytes(pdf(folder, 2))
    folder = parent / "words.idx"
    with Index.create(folder, encoder=WordEncoder()) as index:
        index.add(parent / "library")
    return folder


@pytest.fixture
def words_index(tmp_path: Path) -> Path:
    return made_words_index(tmp_path)


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_words_index(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def changing(shared_index: Path) -> Iterator[Server]:
    """One that tests may add to; they take no document for granted but their own."""
    with served_words(shared_index, "--allow-changes") as running:
        yield running
