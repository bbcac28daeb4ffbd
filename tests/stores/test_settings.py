"""An index knows how its vectors were made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docpruner.codecs import CODEC_NAMES
from docpruner.errors import CodecError, IndexStateError
from docpruner.stores.settings import Settings


@pytest.mark.parametrize("importances", [True, False])
@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_settings_come_back_from_their_rows(codec, importances):
    settings = Settings.new("vidore/colpali@1a2b", 128, "docpruner:k=0.5", codec, importances)
    assert Settings.from_rows(settings.as_rows()) == settings


def test_row_bytes_are_the_codecs():
    assert Settings.new("made", 128, "none", "int8").row_bytes == 130


def test_an_unknown_codec_is_refused():
    with pytest.raises(CodecError, match="no codec 'int5'; there are: float32"):
        Settings.new("made", 128, "none", "int5")


def test_settings_that_are_gone_are_named():
    rows = [row for row in Settings.new("made", 4, "none").as_rows() if row[0] not in ("dim",)]
    with pytest.raises(IndexStateError, match="the index does not say its dim"):
        Settings.from_rows(rows)


def test_a_budget_is_written_only_where_there_is_one():
    """Older versions open an index either way."""
    settings = Settings.new("made", 4, "none", budget="2GB")
    assert Settings.from_rows(settings.as_rows()) == settings
    assert "budget" in dict(settings.as_rows())
    assert "budget" not in dict(Settings.new("made", 4, "none").as_rows())


def test_a_codec_of_a_newer_version_is_named():
    rows = replace(Settings.new("made", 4, "none"), codec="int3").as_rows()
    told = r"in the codec int3, which a newer version of docpruner wrote and this one, .* float32, "
    with pytest.raises(IndexStateError, match=told + r".*pip install --upgrade docpruner"):
        Settings.from_rows(rows)
