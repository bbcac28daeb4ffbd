"""Encoders that another package brings, found by their entry points and opened with an index."""

import importlib
import sys
from pathlib import Path

import pytest

from docpruner import Index
from docpruner.encoders import load_encoder
from docpruner.encoders.registry import EncoderName
from docpruner.errors import EncoderError

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def other_package(tmp_path, monkeypatch):
    """The encoder of examples/ as it would be installed."""
    folder = tmp_path / "site"
    described = folder / "spelling_encoder-1.0.dist-info"
    described.mkdir(parents=True)
    source = (EXAMPLES / "spelling_encoder.py").read_text()
    (folder / "spelling_encoder.py").write_text(
        source + "\n\ndef liar(name):\n    return SpellingEncoder()\n"
    )
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: spelling\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[docpruner.encoders]\n"
        "spelling-1 = spelling_encoder:SpellingEncoder\n"
        "other = spelling_encoder:liar\n"
    )
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    yield
    sys.modules.pop("spelling_encoder", None)


@pytest.mark.usefixtures("other_package")
def test_an_index_made_with_it_opens_with_it_again(tmp_path):
    with Index.create(tmp_path / "my.idx", encoder="spelling-1") as index:
        index.add(ROOT / "src/docpruner/samples/annual-report.pdf")
        first = index.search("revenue")
    with Index.open(tmp_path / "my.idx") as index:  # by the name it has stored
        assert index.settings.encoder == "spelling-1"
        again = index.search("revenue")
    assert [(hit.page, hit.score) for hit in again] == [(hit.page, hit.score) for hit in first]
    with Index.open_or_create(tmp_path / "my.idx", encoder="spelling-1") as index:
        assert index.encoder.name == "spelling-1"


@pytest.mark.usefixtures("other_package")
def test_what_it_reads_is_known_without_loading_it():
    assert EncoderName.read("spelling-1").reads == "words"
    assert EncoderName.read("other").reads == "pixels"


@pytest.mark.usefixtures("other_package")
def test_unknown_names_list_those_that_are_there():
    with pytest.raises(EncoderError, match="give builtin, other, spelling-1, a Hugging Face"):
        load_encoder("spelling")


@pytest.mark.usefixtures("other_package")
def test_a_name_under_which_it_could_not_be_found_again_is_refused():
    with pytest.raises(EncoderError, match="calls itself 'spelling-1': its name has to begin wit"):
        load_encoder("other")


@pytest.mark.usefixtures("other_package")
def test_its_options_are_its_own_affair():
    with pytest.raises(EncoderError, match="this is spelling-1, and has no options"):
        load_encoder("spelling-1", prompt="noise-filtering")


def test_without_the_package_it_is_unknown():
    with pytest.raises(EncoderError, match="no encoder 'spelling-1'; give builtin, a Hugging"):
        load_encoder("spelling-1")
