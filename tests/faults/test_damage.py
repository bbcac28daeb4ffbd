"""Bytes on the disk change or go: it is noticed, kept apart, and mended by indexing again."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from docpruner.errors import DamagedIndexError, DamageWarning, IndexStateError
from docpruner.facade import Index
from docpruner.stores.folder import segments
from faults.library import Contents, Library, PageKey, contents, library
from faults.words import WordEncoder

FLIPS = 10 * int(os.environ.get("DOCPRUNER_KILLS", "30"))


class Place(NamedTuple):
    """Where the rows of a page lie, in bytes."""

    path: str
    number: int
    segment: int
    start: int
    end: int

    @property
    def key(self) -> PageKey:
        return self.path, self.number


class Made(NamedTuple):
    folder: Path
    files: Library
    contents: Contents
    places: list[Place]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    """Twelve pages in several segments, none of them full of dead rows."""
    root = tmp_path_factory.mktemp("made")
    files = library(root / "library", {"a.pdf": 4, "b.pdf": 3, "c.pdf": 5}).written()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SEGMENT_BYTES", 1000)
        with Index.create(root / "index", encoder=WordEncoder(), codec="int8") as index:
            assert index.add(files.folder, metadata={"harbour": "Kiel"}).outcome == "all"
            found, width = contents(index), index.settings.row_bytes
    for left in (root / "index").glob("*-*"):  # of the log; whoever copies has none
        left.unlink()
    connection = sqlite3.connect(root / "index" / "catalogue.sqlite")
    places = [
        Place(path, number, segment, start * width, (start + vectors) * width)
        for path, number, segment, start, vectors in connection.execute(
            "SELECT path, number, segment, start, vectors FROM pages JOIN documents d "
            "ON d.id = document"
        )
    ]
    connection.close()
    assert len(places) == len(found) == 12
    assert len({place.segment for place in places}) > 2
    return Made(root / "index", files, found, places)


@pytest.fixture
def copy(made, tmp_path) -> Path:
    shutil.copytree(made.folder, tmp_path / "index")
    return tmp_path / "index"


def opened(folder: Path) -> Index:
    return Index.open(folder, encoder=WordEncoder())


def segment_file(folder: Path, segment: int) -> Path:
    return folder / "segments" / f"{segment:08d}.rows"


def flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


def damaged_pages(index: Index, *, isolate: bool) -> list[PageKey]:
    return sorted((damage.document, damage.page) for damage in index.verify(isolate=isolate))


def check_mended(folder: Path, made: Made, lost: list[PageKey]) -> None:
    """Verify takes out the lost pages and no others, and indexing again brings them back."""
    with opened(folder) as index:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)
            assert damaged_pages(index, isolate=True) == sorted(lost)
        rest = {key: page for key, page in made.contents.items() if key not in lost}
        assert contents(index) == rest
        assert index.stats().missing_pages == len(lost)
        assert index.verify() == []
        report = index.add(made.files.folder)
        assert (report.pages, report.problems) == (len(lost), [])
        assert contents(index) == made.contents
        assert index.verify() == []
        assert {doc.metadata["harbour"] for doc in index.documents()} == {"Kiel"}
        index.compact()
        assert contents(index) == made.contents


@pytest.mark.parametrize("seed", range(4))
def test_a_segment_cut_short_loses_the_pages_that_lay_there(copy, made, seed):
    dice = random.Random(seed)
    place = dice.choice(made.places)
    file = segment_file(copy, place.segment)
    left = dice.randrange(place.start, place.end)
    os.truncate(file, left)
    lost = [p.key for p in made.places if p.segment == place.segment and p.end > left]
    with opened(copy) as index, pytest.warns(DamageWarning, match=f"{len(lost)} pages of"):
        found = index.search("harbour", 100)
    assert len(found) == 12 - len(lost)
    check_mended(copy, made, lost)


def test_a_segment_that_is_gone_loses_its_pages(copy, made):
    segment = made.places[0].segment
    segment_file(copy, segment).unlink()
    lost = [place.key for place in made.places if place.segment == segment]
    with opened(copy) as index, pytest.warns(DamageWarning, match="run: docpruner verify"):
        assert len(index.search("harbour", 100)) == 12 - len(lost)
    check_mended(copy, made, lost)


def test_all_segments_may_be_gone(copy, made):
    shutil.rmtree(copy / "segments")
    (copy / "segments").mkdir()
    check_mended(copy, made, list(made.contents))


def test_a_flipped_bit_of_a_segment_is_of_one_page(copy, made, record_property):
    dice = random.Random(5)
    with opened(copy) as index:
        for _ in range(FLIPS // 5):
            page = dice.choice(made.places)
            where = segment_file(copy, page.segment), dice.randrange(page.start, page.end)
            bit = dice.randrange(8)
            flip(*where, bit)
            assert damaged_pages(index, isolate=False) == [page.key]
            flip(*where, bit)
        assert index.verify() == []
    record_property("tried", f"{FLIPS // 5} bits of vectors, each noticed and placed")


@pytest.mark.parametrize("seed", range(3))
def test_pages_with_flipped_bits_are_mended(copy, made, seed):
    dice = random.Random(seed)
    pages = dice.sample(made.places, 3)
    for page in pages:
        flip(segment_file(copy, page.segment), dice.randrange(page.start, page.end), 6)
    check_mended(copy, made, [page.key for page in pages])


def test_damaged_vectors_that_are_no_numbers_are_told_in_search(copy, made):
    """Of a row of int8 the last two bytes are a float16 scale; with all its exponent it is NaN."""
    page = made.places[5]
    with segment_file(copy, page.segment).open("r+b") as file:
        file.seek(page.end - 2)
        file.write(b"\xff\x7f")
    with (
        opened(copy) as index,
        pytest.raises(DamagedIndexError, match=r"b\.pdf#2 is damaged; run: "),
    ):
        index.search("harbour", 100)
    check_mended(copy, made, [page.key])


@pytest.mark.parametrize("work", [Index.compact, lambda index: index.prune("docpruner:k=0.5")])
def test_damage_is_not_carried_over(copy, made, work):
    """Rewriting a damaged page would give it a checksum that fits."""
    page = next(place for place in made.places if place.path.endswith("b.pdf"))
    flip(segment_file(copy, page.segment), page.start, 0)
    with opened(copy) as index:
        index.delete(["a.pdf", "c.pdf"])
        with pytest.raises(DamagedIndexError, match=r"b\.pdf#1 is damaged; run: docpruner verify"):
            work(index)
        assert damaged_pages(index, isolate=False) == [page.key]


def test_a_copy_of_a_damaged_page_is_encoded_anew(copy, made):
    page = made.places[0]
    flip(segment_file(copy, page.segment), page.start, 0)
    (made.files.folder / "z.pdf").write_bytes(made.files.files["a.pdf"][1])
    try:
        with opened(copy) as index:
            report = index.add(made.files.folder / "z.pdf")
            assert (report.pages, report.copied) == (4, 3)
            assert damaged_pages(index, isolate=False) == [page.key]
            again = contents(index)
        assert again[str(made.files.folder / "z.pdf"), 1] == made.contents[page.key]
    finally:
        (made.files.folder / "z.pdf").unlink()


# ---------------------------------------------------------------------------- the catalogue


def outcome(folder: Path, expected: tuple) -> str:
    """What comes of using an index with a damaged catalogue; other errors go through."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DamageWarning)
        try:
            index = opened(folder)
        except DamagedIndexError:
            return "refused"
        except IndexStateError as error:
            if "upgrade docpruner" in str(error) or "does not say its" in str(error):
                return "refused"
            raise
        with index:
            try:
                same = everything(index) == expected
            except DamagedIndexError:
                same = False
            try:
                noticed = index.verify(isolate=False) != []
                noticed |= any("full-text index" in str(each.message) for each in told)
            except DamagedIndexError:
                noticed = True
        if noticed:
            return "noticed"
        return "unchanged" if same else "CHANGED AND NOT NOTICED"


def everything(index: Index) -> tuple:
    documents = [(doc.name, doc.pages, dict(doc.metadata)) for doc in index.documents()]
    return contents(index), documents, index.settings, index.stats().vectors


def try_catalogues(
    folder: Path, rounds: int, change: Callable[[bytearray, random.Random], bytearray]
) -> Counter[str]:
    with opened(folder) as index:
        expected = everything(index)
    catalogue = folder / "catalogue.sqlite"
    content = catalogue.read_bytes()
    found: Counter[str] = Counter()
    unnoticed = []
    for seed in range(rounds):
        for left in folder.glob("catalogue.sqlite-*"):
            left.unlink()
        catalogue.write_bytes(change(bytearray(content), random.Random(seed)))
        try:
            told = outcome(folder, expected)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        found[told] += 1
        if told.startswith("CHANGED"):
            unnoticed.append(seed)
    assert not unnoticed
    return found


def flipped(content: bytearray, dice: random.Random) -> bytearray:
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    return content


def filled(content: bytearray, dice: random.Random) -> bytearray:
    size = dice.choice((8, 64, 512, 4096))
    start = dice.randrange(len(content) - size)
    content[start : start + size] = dice.choice((bytes(size), b"\xff" * size, dice.randbytes(size)))
    return content


def cut(content: bytearray, dice: random.Random) -> bytearray:
    return content[: dice.randrange(len(content))]


def test_a_flipped_bit_of_the_catalogue_changes_nothing_unnoticed(copy, record_property):
    found = try_catalogues(copy, FLIPS, flipped)
    assert found["refused"] + found["noticed"] > FLIPS / 40  # most of the file is empty
    record_property("tried", ", ".join(f"{n} {what}" for what, n in found.items()))


def test_garbage_in_the_catalogue_changes_nothing_unnoticed(copy, record_property):
    found = try_catalogues(copy, FLIPS // 3, filled)
    assert found["refused"] + found["noticed"] > FLIPS / 12
    record_property("tried", ", ".join(f"{n} {what}" for what, n in found.items()))


def test_a_catalogue_cut_short_is_refused(copy):
    found = try_catalogues(copy, FLIPS // 10, cut)
    assert found.keys() <= {"refused", "noticed"}


def test_what_is_no_catalogue_is_refused(copy):
    for content in (b"", b"SQLite format 3\0", b"not a catalogue" * 999, bytes(4096)):
        (copy / "catalogue.sqlite").write_bytes(content)
        with pytest.raises(DamagedIndexError, match=r"catalogue\.sqlite is damaged .* restore it"):
            opened(copy)


def test_a_page_whose_entry_is_damaged_is_mended(copy, made):
    """Values that no flipped bit has to be lucky for, in the columns of one page each."""
    wrong = {
        "start": 10**12, "vectors": 0, "segment": 99, "checksum": 1, "special": 5, "patches": 1,
        "width": 7, "height": 7,
    }  # fmt: skip
    keys = []
    connection = sqlite3.connect(copy / "catalogue.sqlite", isolation_level=None)
    for page_id, (column, value) in enumerate(wrong.items(), 1):
        connection.execute(f"UPDATE pages SET {column} = ? WHERE id = ?", (value, page_id))
        keys += connection.execute(
            "SELECT path, number FROM pages p JOIN documents d ON d.id = document WHERE p.id = ?",
            (page_id,),
        ).fetchall()
    connection.close()
    check_mended(copy, made, keys)


@pytest.mark.parametrize(
    ("column", "value"), [("metadata", '{"harbour": "Kial"}'), ("pages", 9), ("sha256", b"")]
)
def test_a_document_whose_entry_is_damaged_is_mended(copy, made, column, value):
    connection = sqlite3.connect(copy / "catalogue.sqlite", isolation_level=None)
    connection.execute(f"UPDATE documents SET {column} = ? WHERE path LIKE '%b.pdf'", (value,))
    connection.close()
    lost = [key for key in made.contents if key[0].endswith("b.pdf")]
    with opened(copy) as index:
        assert damaged_pages(index, isolate=True) == lost
        assert index.verify() == []
        report = index.add(made.files.folder, metadata={"harbour": "Kiel"})
        assert (report.pages, report.documents["added"]) == (3, 1)
        assert contents(index) == made.contents
        assert index.verify() == []


# ---------------------------------------------------------------------------- the log


def with_log(folder: Path, made: Made) -> Path:
    """An index as a killed writer leaves it: its last change stands in the log only."""
    program = (
        "import os, sys; from docpruner.facade import Index; from faults.words import WordEncoder\n"
        "index = Index.open(sys.argv[1], encoder=WordEncoder())\n"
        "with index._store.writer() as writer:\n"
        "    writer.delete([sys.argv[2]])\n"
        "    os._exit(0)\n"
    )
    tests = Path(__file__).parent.parent
    arguments = [str(folder), str(made.files.folder / "b.pdf")]
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        check=True,
        env=os.environ | {"PYTHONPATH": str(tests)},
    )
    log = folder / "catalogue.sqlite-wal"
    assert log.stat().st_size > 0
    return log


def test_a_log_without_its_end_gives_the_state_before(copy, made):
    log = with_log(copy, made)
    after = {key: page for key, page in made.contents.items() if not key[0].endswith("b.pdf")}
    content = log.read_bytes()
    with opened(copy) as index:
        assert contents(index) == after
    for share in (0.0, 0.3, 0.9, None):
        (copy / "catalogue.sqlite-shm").unlink(missing_ok=True)
        if share is None:
            log.unlink()
        else:
            log.write_bytes(content[: int(share * len(content))])
        with opened(copy) as index:
            assert contents(index) == made.contents
            assert index.verify(isolate=False) == []


def test_a_damaged_log_gives_one_of_both_states(copy, made):
    log = with_log(copy, made)
    after = {key: page for key, page in made.contents.items() if not key[0].endswith("b.pdf")}
    content = log.read_bytes()
    states = Counter()
    for seed in range(30):
        (copy / "catalogue.sqlite-shm").unlink(missing_ok=True)
        log.write_bytes(flipped(bytearray(content), random.Random(seed)))
        with opened(copy) as index:
            found = contents(index)
            assert found in (made.contents, after)
            assert index.verify(isolate=False) == []
            states[found == after] += 1
    assert states[False] > 0
