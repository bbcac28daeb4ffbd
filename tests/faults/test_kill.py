"""kill -9 at any moment: nothing that was committed is lost, and the work goes on where it was."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from docpruner.facade import Index
from docpruner.pipeline.budget import Budget
from docpruner.reduce import reducer
from docpruner.reduce.threshold import unwarned
from docpruner.types import PageEmbedding
from faults.library import ALL, Contents, Library, contents_of, library
from faults.words import WordEncoder
from faults.worker import Worker, committed, work

KILLS = int(os.environ.get("DOCPRUNER_KILLS", "30"))
STRICTER = "docpruner:k=0.25"
FITTED = "docpruner:k=0.5 in int1"  # fewer bits and patches than are there when it is asked for


@dataclass(frozen=True)
class Step:
    do: str
    of: str = ""
    library: str = "second"  # the version of the files that lies there meanwhile


STEPS = (
    Step("add", library="first"),
    Step("add"),  # replaces two documents, one of them by a longer version
    Step("delete", "b*.pdf"),
    Step("compact"),
    Step("prune", STRICTER),
    Step("add"),  # what was deleted comes again, pruned more
    Step("fit", FITTED),
)


class Course:
    """The steps, each with what an undisturbed run made of it and how long that took."""

    def __init__(self, folder: Path) -> None:
        files = folder / "library"
        first = library(files, {"a.pdf": 6, "b.pdf": 9, "c.pdf": 1, "d.pdf": 12})
        changed = library(files, {"b.pdf": 11, "d.pdf": 5}, "second")
        self.versions = {"first": first, "second": Library(files, first.files | changed.files)}
        self.states: list[Contents] = [{}]
        self.seconds = []
        for step in STEPS:
            self.versions[step.library].written()
            with Worker() as worker:
                worker.begin(step.do, folder / "undisturbed", self.of(step))
                began = time.monotonic()
                while worker.line() != "done":
                    pass
            self.seconds.append(time.monotonic() - began)
            self.states.append(contents_of(folder / "undisturbed"))

    def of(self, step: Step) -> str:
        return step.of if step.do != "add" else str(self.versions["first"].folder)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    return Course(tmp_path_factory.mktemp("course"))


def test_the_steps_change_what_they_should(course):
    """Or the tests below would compare nothing with nothing."""
    first, second, deleted, compacted, pruned, again, fitted = course.states[1:]
    assert len(first) == 6 + 9 + 1 + 12
    assert len(second) == 6 + 11 + 1 + 5 == len(again)
    assert len(deleted) == 6 + 1 + 5
    assert deleted == compacted != pruned
    assert pruned.items() < again.items()
    assert fitted.keys() == again.keys()
    assert not fitted.items() & again.items()


def test_no_kill_loses_what_was_committed(course, tmp_path, record_property):
    dice = random.Random(2024)
    kills: Counter[str] = Counter()
    lineage = midway = 0
    spare = Worker()
    while kills.total() < KILLS:
        lineage += 1
        index = tmp_path / str(lineage)
        for number, step in enumerate(STEPS):
            files = course.versions[step.library].written()
            for _ in range(3 if step.do == "add" else 1):
                before = files.stored_keys(index) if is_made(index) else set()
                worker, spare = spare, Worker()
                with worker:
                    worker.begin(step.do, index, course.of(step))
                    at_work, said = killed(worker, step, course.seconds[number], dice)
                if not at_work:
                    break
                kills[step.do] += 1
                midway += committed(said) > 0
                told = f"kill {kills.total()}, lineage {lineage}, step {number}: {said}"
                check_survivor(course, number, index, before, committed(said), told)
            if at_work:
                worker, spare = spare, Worker()
                with worker:
                    worker.begin(step.do, index, course.of(step))
                    worker.finished()
            assert contents_of(index) == course.states[number + 1]
    with spare:
        pass
    record_property(
        "tried",
        f"{kills.total()} kills ({', '.join(f'{n} in {do}' for do, n in kills.items())}; {midway} "
        f"after a commit) in {lineage} indexes; nothing committed was lost",
    )


def killed(
    worker: Worker, step: Step, seconds: float, dice: random.Random
) -> tuple[bool, list[str]]:
    """At any moment, or shortly after any of the commits, of which adding makes many."""
    if step.do == "add" and dice.random() < 0.7:
        return worker.killed_after(dice.uniform(0, 0.03), commits=dice.randint(1, 4))
    return worker.killed_after(dice.uniform(0, seconds))


def test_no_kill_loses_a_page_of_an_index_that_keeps_to_a_budget(tmp_path, record_property):
    """It is rewritten as a whole again and again while it fills up."""
    pages = {"a.pdf": 12, "b.pdf": 9, "c.pdf": 1, "d.pdf": 6}
    files = library(tmp_path / "library", pages).written()
    budget = tight(tmp_path / "whole", files)
    dice, kills, narrowed = random.Random(11), 0, set()
    began = time.monotonic()
    grown(tmp_path / "undisturbed", files, budget)
    seconds = time.monotonic() - began
    wanted = max(4, KILLS // 5)
    for lineage in range(10 * wanted):
        index = tmp_path / str(lineage)
        with Index.create(index, encoder=WordEncoder(), budget=budget):
            pass
        for _ in range(3):
            before = files.stored_keys(index)
            with Worker() as worker:
                worker.begin("add", index, files.folder)
                at_work, said = worker.killed_after(dice.uniform(0, 0.9 * seconds))
            kills += at_work
            narrowed.add(check_alike(index))
            now = files.stored_keys(index)
            assert before <= now
            assert len(now) - len(before) >= committed(said)
        grown(index, files, budget)
        assert files.stored_keys(index) == set(files.keys)
        if kills >= wanted:
            break
    assert len(narrowed) > 1, narrowed
    told = ", ".join(sorted(narrowed))
    record_property("tried", f"{kills} kills, at {told}; no page was lost")


def tight(index: Path, files: Library) -> str:
    """A budget that all files fit only with fewer patches and bits than an index begins with."""
    with Index.create(index, encoder=WordEncoder(), budget="1GB") as whole:
        whole.add(files.folder)
        sizes = [choice.bytes for choice in whole.budget_choices()]
    return f"{sizes[4]}B"


def grown(index: Path, files: Library, budget: str) -> None:
    """With all files in, within its budget."""
    if not is_made(index):
        with Index.create(index, encoder=WordEncoder(), budget=budget):
            pass
    work("add", index, files.folder)
    check_alike(index)
    with Index.open(index) as opened:
        assert opened.settings.budget == str(Budget.read(budget))
        stats = opened.stats()
        assert stats.bytes_of_vectors + stats.bytes_besides <= Budget.read(budget).bytes


def check_alike(index: Path) -> str:
    """All pages are in the setting that the index says it has, which is returned."""
    with Index.open(index) as opened:
        assert opened.verify() == []
        settings = opened.settings
        reduce = reducer(settings.spec)
        for name in opened.pages():
            page = opened.page(*name)
            assert page.vectors.codec == settings.codec
            origin = page.provenance
            whole = PageEmbedding(
                page.name, origin.boxes, origin.importance, origin.grid, origin.cells
            )
            with unwarned():
                assert origin.sources.tolist() == reduce(whole).sources.tolist()
        return f"{settings.spec} in {settings.codec}"


def is_made(index: Path) -> bool:
    return (index / "catalogue.sqlite").exists()


def check_survivor(
    course: Course, number: int, index: Path, before: set, reported: int, told: str
) -> None:
    """The index opens, is whole, has all that was committed, and nothing that is half."""
    step = STEPS[number]
    if not is_made(index):
        assert (number, reported) == (0, 0), told
        return
    with Index.open(index) as opened:
        assert opened.verify() == [], told
    found, old, new = contents_of(index), course.states[number], course.states[number + 1]
    if step.do != "add":
        assert found in (old, new), told
        return
    files = course.versions[step.library]
    pending = [key for key in files.keys if key not in before]
    now = files.stored_keys(index)
    added = [key for key in pending if key in now]
    assert before <= now, told
    assert added == pending[: len(added)], told
    assert len(added) >= reported, told
    for path in {path for path, _ in old | new}:
        there, whole_old, whole_new = (
            {key: page for key, page in state.items() if key[0] == path}
            for state in (found, old, new)
        )
        if whole_old:  # replaced at once or not at all
            assert there in (whole_old, whole_new), told
        else:
            assert there == {key: new[key] for key in now if key[0] == path}, told


def test_no_kill_loses_what_the_builtin_encoder_made(tmp_path, record_property):
    from docpruner.encoders.builtin import BuiltinEncoder

    encoder = BuiltinEncoder()
    files = library(tmp_path / "library", {"a.pdf": 5, "b.pdf": 4}).written()
    work("add", tmp_path / "undisturbed", files.folder, "builtin")
    expected = hits(tmp_path / "undisturbed", encoder)
    dice, kills = random.Random(7), 0
    wanted = max(2, KILLS // 10)
    for lineage in range(10 * wanted):
        index = tmp_path / str(lineage)
        for _ in range(2):
            with Worker("builtin") as worker:
                worker.begin("add", index, files.folder)
                at_work, said = worker.killed_after(dice.uniform(0, 0.3), dice.randint(0, 3))
            kills += at_work
            if is_made(index):
                with Index.open(index) as opened:
                    assert opened.verify() == []
                assert len(files.stored_keys(index)) >= committed(said)
        work("add", index, files.folder, "builtin")
        assert hits(index, encoder) == expected
        if kills >= wanted:
            break
    record_property("tried", f"{kills} kills; nothing committed was lost")


def hits(folder: Path, encoder) -> list:
    with Index.open(folder, encoder=encoder) as index:
        return index.search_many(["harbour pilot", "anchor of the ferry"], ALL)


def test_an_index_can_be_made_where_making_one_was_killed(tmp_path):
    """All that a killed `create` can leave behind: the draft of the catalogue, and its log."""
    folder = tmp_path / "index"
    (folder / "segments").mkdir(parents=True)
    for ending in ("", "-wal", "-shm", "-journal"):
        (folder / f"catalogue.sqlite.new{ending}").write_bytes(b"half")
    files = library(tmp_path / "library", {"a.pdf": 2}).written()
    work("add", folder, files.folder)
    assert len(contents_of(folder)) == 2
    with Index.open(folder) as index:
        assert index.verify() == []
