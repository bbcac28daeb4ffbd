"""An index of the built-in encoder's wide edition, from the command line to the hit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import docpruner as docpruner_package
from cli_process import docpruner
from docpruner import Index

SAMPLES = Path(docpruner_package.__file__).parent / "samples"
WIDE = "builtin-v2-wide"


def test_an_index_of_wide_vectors_in_two_bits_takes_the_bytes_of_narrow_ones_in_four(tmp_path):
    shutil.copy(SAMPLES / "annual-report.pdf", tmp_path)
    sizes = {}
    for name, encoder, codec in (("wide", WIDE, "int2"), ("narrow", "builtin", "int4")):
        options = ("--encoder", encoder, "--codec", codec, "--json")
        done = docpruner("index", name, "annual-report.pdf", *options, at=tmp_path)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["newer_encoder"] is None
        stats = json.loads(docpruner("stats", name, "--json", at=tmp_path).stdout)
        sizes[name] = (stats["vectors"], stats["bytes_of_vectors"])
    assert sizes["wide"] == sizes["narrow"]
    with Index.open(tmp_path / "wide") as index:
        assert index.settings.encoder == WIDE
        best, *_ = index.search("What was paid for Saltmarsh Analytics and how much is goodwill?")
    assert best.page == 10
    assert best.matches  # words of the page, with their places


def test_vectors_of_two_widths_do_not_go_into_one_index(tmp_path):
    shutil.copy(SAMPLES / "travel-expense-form.pdf", tmp_path)
    docpruner("index", "my.idx", "travel-expense-form.pdf", "--encoder", WIDE, at=tmp_path)
    again = ("index", "my.idx", "travel-expense-form.pdf", "--encoder", "builtin-v2")
    done = docpruner(*again, at=tmp_path)
    assert done.returncode != 0
    assert WIDE in " ".join(done.stderr.split())
