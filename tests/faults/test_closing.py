"""An index that is closed and opened again under the feet of threads that search it."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path

from docpruner.errors import IndexClosedError
from docpruner.facade import Index
from faults.library import library
from faults.words import WordEncoder

ROUNDS = int(os.environ.get("DOCPRUNER_KILLS", "30"))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


def test_closing_and_reopening_under_threads(tmp_path, record_property):
    """A search gives all hits, or says that the index is closed; nothing stays open."""
    files = library(tmp_path / "library", {"a.pdf": 4, "b.pdf": 3}).written()
    with Index.create(tmp_path / "index", encoder=WordEncoder()) as index:
        index.add(files.folder)
    current = Index.open(tmp_path / "index", encoder=WordEncoder())
    outcomes: Counter[str] = Counter()
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            try:
                hits = current.search("harbour pilot", 100)
                current.documents()
                outcomes["whole" if len(hits) == 7 else f"{len(hits)} hits"] += 1
            except IndexClosedError:
                outcomes["closed"] += 1
            except Exception as error:
                outcomes[f"{type(error).__name__}: {error}"] += 1

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    before = 0
    for turn in range(ROUNDS):
        old = current
        current = Index.open(tmp_path / "index", encoder=WordEncoder())
        old.close()
        threading.Event().wait(0.01)
        if turn == ROUNDS // 2:
            before = open_files()
    stop.set()
    for thread in threads:
        thread.join()
    current.close()
    assert set(outcomes) <= {"whole", "closed"}, outcomes
    assert outcomes["whole"] > 0
    assert open_files() <= before
    record_property("tried", f"{ROUNDS} times; {dict(outcomes)}")
