"""A process that writes to an index: `python -m stores.lance_jobs LOCATION WHO COUNT`.

It says `committed N` after each of its documents, every third of which replaces the one before, and
`done` in the end.
"""

from __future__ import annotations

import sys
import zlib

from docpruner.stores.contract import Store
from docpruner.stores.locations import open_store
from stores.made import commit, document, documents_of, known, made_page, page_of, unit_vectors

PAGES = 3


def vectors_of(who: str, step: int, number: int):
    return unit_vectors(2 + step % 3, 4, seed=zlib.crc32(f"{who} {step} {number}".encode()))


def write(store: Store, who: str, step: int) -> None:
    pages = [made_page(n, vectors_of(who, step, n), text=who) for n in range(1, PAGES + 1)]
    name, version = name_of(who, step), f"{step}"
    commit(store, document(name, pages[:1], of=PAGES, version=version, finished=False))
    commit(store, document(name, pages[1:], of=PAGES, version=version))


def name_of(who: str, step: int) -> str:
    return f"{who}-{step - (step % 3 == 2):03}.pdf"


def check(store: Store, who: str, steps: int) -> None:
    """What so many steps have written is there, whole, and nothing twice."""
    expected = {name_of(who, step): step for step in range(steps)}
    own = [entry.name for entry in documents_of(store) if entry.name.startswith(f"{who}-")]
    assert set(expected) <= set(own)
    with store.reader() as reader:
        pages = [page for page in reader.pages() if page.document.startswith(f"{who}-")]
    assert len(pages) == len(set(pages))
    for name, step in expected.items():
        steps_in = [step]
        if name_of(who, step + 1) == name and known(store, name, f"{step + 1}").same:
            steps_in.append(step + 1)  # which was begun, and may have ended without a word
        else:
            assert known(store, name, f"{step}").whole
        stored = [page_of(store, name, n).vectors.decode().tolist() for n in range(1, PAGES + 1)]
        assert stored in [written(who, each) for each in steps_in]


def written(who: str, step: int) -> list[list[list[float]]]:
    return [vectors_of(who, step, number).tolist() for number in range(1, PAGES + 1)]


def main() -> None:
    location, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open_store(location) as store:
        for step in range(count):
            write(store, who, step)
            print(f"committed {step + 1}", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
