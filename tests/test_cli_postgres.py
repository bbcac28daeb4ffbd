"""The commands on an index in PostgreSQL, with documents as people have them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from cli_process import docpruner
from postgres_server import OWNER

QUOTED = "pa%3Ass%2Fword%401"  # the password, as an address has it


def test_an_index_in_postgres_from_the_first_file_to_the_last(postgres, tmp_path):
    samples = Path(str(files("docpruner") / "samples"))
    location = postgres.address("samples", login=f"{OWNER}:{QUOTED}")

    def run(*arguments: str, status: int = 0) -> str:
        done = docpruner(*arguments)
        assert done.returncode == status, done.stderr + done.stdout
        for shown in (done.stdout, done.stderr):
            assert QUOTED not in shown
            assert "word@1" not in shown
        return done.stdout

    wanted = ("travel-expense-form.pdf", "tidal-energy-article.pdf")
    report = run("index", location, *(str(samples / name) for name in wanted))
    assert postgres.address("samples", login=OWNER) in report
    again = run("index", location, *(str(samples / name) for name in wanted), "--json")
    assert json.loads(again.splitlines()[-1])["outcome"] == "all"

    question = json.loads((samples / "queries.jsonl").read_text("utf-8").splitlines()[0])
    run("index", str(tmp_path / "folder"), *(str(samples / name) for name in wanted))
    text = next(value for key, value in question.items() if key not in ("id", "_id", "query_id"))
    hits, theirs = (
        json.loads(run("search", where, text, "--json"))
        for where in (location, str(tmp_path / "folder"))
    )
    assert hits == theirs  # scores, places and all

    listed = json.loads(run("list", location, "--json"))
    assert sorted(Path(each["document"]).name for each in listed) == sorted(wanted)
    stats = json.loads(run("stats", location, "--json"))
    assert stats["documents"] == 2
    run("prune", location, "docpruner:k=0.5", "--yes")
    run("delete", location, "tidal*")
    run("compact", location)
    left = json.loads(run("stats", location, "--json"))
    assert (left["documents"], left["vectors"] < stats["vectors"] / 2) == (1, True)
    assert "no damage" in run("verify", location)
