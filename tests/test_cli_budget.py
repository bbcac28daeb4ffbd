"""`--budget` on the command line: what it shows, what it does, what it refuses."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import docpruner as docpruner_package
from cli_process import docpruner
from docpruner.pipeline.measured_front import ndcg_kept
from docpruner.stores.settings import Settings

SAMPLES = Path(docpruner_package.__file__).parent / "samples"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """An index with room to spare."""
    folder = tmp_path_factory.mktemp("budget")
    shutil.copytree(SAMPLES, folder / "docs")
    done = docpruner("index", "my.idx", "docs", "--no-ocr", "--budget", "2GB", "--json", at=folder)
    assert json.loads(done.stdout.splitlines()[-1])["narrowed"] == []
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def stats_of(folder: Path, index: str = "my.idx") -> dict:
    return json.loads(docpruner("stats", index, "--json", at=folder).stdout)


def size_of(index: Path) -> int:
    return sum(path.stat().st_size for path in index.rglob("*") if path.is_file())


def test_an_index_with_room_keeps_all(made):
    stats = stats_of(made)
    assert (stats["settings"]["spec"], stats["settings"]["codec"]) == ("none", "int8")
    assert "budget     2GB" in docpruner("stats", "my.idx", at=made).stdout


def test_a_dry_run_shows_the_choices_and_the_one_that_is_taken(made):
    shown = docpruner("prune", "my.idx", "--budget", "470kB", "--dry-run", at=made)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    (now,) = [line.split() for line in lines if "now" in line]
    assert now[:4] == ["now", "none", "int8", "5,872"]
    (taken,) = [line.split() for line in lines if "→" in line]
    assert taken[1:3] == ["none", "int1"]
    assert "mmdocir_mmlb with the built-in encoder" in " ".join(lines)
    every = docpruner("prune", "my.idx", "--dry-run", at=made).stdout
    assert "→" not in every
    assert "docpruner:k=8" in every


def test_pruning_to_a_budget_does_what_the_dry_run_said(folder):
    command = ("prune", "my.idx", "--budget", "470kB", "--json")
    told = json.loads(docpruner(*command, "--dry-run", at=folder).stdout)
    chosen = next(choice for choice in told["choices"] if choice["fits"])
    done = json.loads(docpruner(*command, "--yes", at=folder).stdout)
    assert (done["spec"], done["codec"], done["vectors"]) == (
        *(chosen["spec"], chosen["codec"], chosen["vectors"]),
    )
    assert done["budget"] == "470kB"
    assert done["bytes_on_disk"] == size_of(folder / "my.idx") <= chosen["bytes"] <= 470_000
    assert stats_of(folder)["bytes_on_disk"] == done["bytes_on_disk"]


def test_bytes_for_each_page(folder):
    done = docpruner("prune", "my.idx", "--bytes-per-page", "7kB", "--yes", at=folder)
    told = " ".join(done.stdout.split())
    assert f"in int1 (nDCG@5 as measured: {ndcg_kept('docpruner:k=-0.25', 'int1'):.1%}): " in told
    assert told.endswith("on disk, within 7kB/page")
    stats = stats_of(folder)
    assert stats["bytes_of_vectors"] + stats["bytes_besides"] <= 7000 * 32 + stats["bytes_empty"]


def test_adding_reports_what_was_narrowed(folder):
    done = docpruner("index", "new.idx", "docs", "--no-ocr", "--budget", "470kB", at=folder)
    told = " ".join(done.stdout.split())
    assert "to keep to the budget, all pages of the index are now none in int1 (nDCG@5" in told
    assert size_of(folder / "new.idx") <= 470_000
    lower = ("index", "new.idx", "docs", "--no-ocr", "--budget", "310kB", "--json")
    event = json.loads(docpruner(*lower, at=folder).stdout.splitlines()[-1])
    assert event["documents"] == {"unchanged": 6}
    assert [choice["spec"] for choice in event["narrowed"]] == [
        stats_of(folder, "new.idx")["settings"]["spec"]
    ]
    assert size_of(folder / "new.idx") <= 310_000


def test_a_budget_is_lifted(folder):
    done = docpruner("prune", "my.idx", "--budget", "none", at=folder)
    assert done.stdout.split()[-4:] == ["without", "a", "budget", "now"]
    assert stats_of(folder)["settings"]["budget"] == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prune", "my.idx", "--budget", "5XB", "--yes"], "'5XB' is not a size; write it like 500"),
        (["prune", "my.idx", "--budget", "50kB", "--yes"], "the least possible is 2"),
        (["prune", "my.idx", "--bytes-per-page", "9", "--yes"], "bytes a page, as docpruner:k=8"),
        (["prune", "my.idx", "--budget", "1MB"], "add --yes to prune, or --dry-run"),
        (
            ["prune", "my.idx", "--budget", "1MB", "--bytes-per-page", "1kB", "--yes"],
            "give --budget or --bytes-per-page, not both",
        ),
        (
            ["prune", "my.idx", "docpruner:k=1", "--budget", "1MB", "--yes"],
            "a budget chooses both",
        ),
        (["prune", "my.idx"], "--codec int4 or --budget 500MB"),
        (["prune", "my.idx", "--codec", "int5", "--yes"], "no codec 'int5'; there are: float32, "),
        (["index", "other.idx", "docs", "--budget", "much"], "'much' is not a size"),
        (["index", "other.idx", "docs", "--budget", "90kB"], "90kB: the least possible is"),
    ],
)
def test_bad_budgets_are_one_line_that_says_what_to_do(folder, arguments, said):
    done = docpruner(*arguments, at=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert stats_of(folder)["settings"]["codec"] == "int8"


def test_a_dry_run_of_what_can_not_be_met_shows_the_choices_and_fails(made):
    done = docpruner("prune", "my.idx", "--budget", "50kB", "--dry-run", at=made)
    assert done.returncode == 1
    assert "docpruner:k=8" in done.stdout
    assert "the least possible is" in done.stderr


def test_a_codec_that_there_is_not_lists_those_that_are(made):
    done = docpruner("index", "other.idx", "docs", "--codec", "int5", at=made)
    assert done.returncode == 2
    assert "'int5' is not one of 'float32', 'float16', 'int8'" in done.stderr


def test_an_index_of_a_newer_version_says_which_codec_it_has(folder):
    connection = sqlite3.connect(folder / "my.idx" / "catalogue.sqlite")
    with connection:
        values = dict(connection.execute("SELECT key, value FROM settings").fetchall())
        del values["checksum"]
        own = Settings(values["encoder"], 128, "none", "int3", True, "9.0", budget="2GB")
        connection.executemany("REPLACE INTO settings VALUES (?, ?)", own.as_rows())
    connection.close()
    for command in (["search", "my.idx", "rent"], ["stats", "my.idx"], ["index", "my.idx", "docs"]):
        done = docpruner(*command, at=folder)
        assert done.returncode == 1
        assert done.stderr.startswith("error: the index stores its vectors in the codec int3, ")
        assert "pip install --upgrade docpruner" in done.stderr
