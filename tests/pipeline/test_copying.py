"""An index copied into another store is that index, whatever happens on the way."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from docpruner import Index
from docpruner.errors import CodecError, DamagedIndexError, IndexStateError, SpecError
from docpruner.pipeline import copying
from docpruner.pipeline.copying import copy_index
from docpruner.pipeline.prune import prune
from docpruner.stores.contract import Store
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.memory import MemoryReader, MemoryWriter
from docpruner.stores.page_map import importance_codes
from docpruner.stores.page_text import PageText
from docpruner.types import Word
from pipeline.made import WordEncoder, text_pdf
from stores.conftest import other_package  # noqa: F401  # the fixture
from stores.made import (
    X,
    Y,
    Z,
    commit,
    content_of,
    document,
    documents_of,
    found,
    made_page,
    settings_of,
    unit_vectors,
)

LOCATIONS = {
    "folder": "{}/{}",
    "memory": "memory://{}/{}",
    "one-file": "one-file://{}/{}.pickle",
}
SPEC = "docpruner:k=0"


@pytest.fixture
def at(tmp_path, other_package):  # noqa: ARG001, F811  # brings its store
    """A place for an index of a kind."""
    return lambda kind, name: LOCATIONS[kind].format(tmp_path, name)


def long_document(name: str, pages: int, *, version: str = "first", of: int | None = None):
    """No two pages alike, and none like those of another document or version."""
    seed = sum(map(ord, name + version)) * 100
    return document(
        name,
        [made_page(n, unit_vectors(3 + n % 4, 4, seed + n)) for n in range(1, pages + 1)],
        version=version,
        of=of,
        metadata={"name": name},
    )


def stored(store: Store) -> dict[tuple[str, int], tuple]:
    """All of every page, in a form that can be compared."""
    with store.reader() as reader:
        pages = {name: reader.page(*name) for name in reader.pages()}
    return {
        tuple(name): (
            page.size,
            page.words_from,
            page.content_hash,
            page.vectors.codec,
            page.vectors.rows.tobytes(),
            page.text.packed,
            page.provenance.grid,
            importance_codes(page.provenance.importance, page.provenance.cells)[1].tobytes(),
            *(
                getattr(page.provenance, part).tobytes()
                for part in ("cells", "boxes", "sources", "offsets")
            ),
        )
        for name, page in pages.items()
    }


# ---------------------------------------------------------------------- the same index


@pytest.mark.parametrize(("here", "there"), [*permutations(LOCATIONS, 2), ("folder", "folder")])
def test_a_copy_has_every_page_document_and_setting(at, here, there):
    with create_store(at(here, "source"), settings_of(spec="none")) as source:
        commit(source, long_document("a.pdf", 3), long_document("b.pdf", 2, of=5))
        report = copy_index(source, at(there, "copy"))
        assert (report.documents, report.pages, report.compared) == (2, 5, 5)
        with open_store(at(there, "copy")) as copy:
            assert stored(copy) == stored(source)
            assert documents_of(copy) == documents_of(source)
            assert found(copy) == found(source)
            with copy.reader() as reader, source.reader() as own:
                assert reader.settings == own.settings
                known = reader.known("b.pdf", content_of("first"))
                assert (known.whole, known.pages, known.there) == (False, 5, {1, 2})


@pytest.mark.parametrize("there", ["memory", "one-file"])
def test_the_words_of_pages_come_along(at, there):
    words = PageText.of([Word("harbour", (0.1, 0.1, 0.2, 0.2)), Word("tide", (0.3, 0.1, 0.4, 0.2))])
    page = replace(made_page(1, [X]), text=words)
    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, document("a.pdf", [page]))
        copy_index(source, at(there, "copy"))
        with open_store(at(there, "copy")) as copy, copy.reader() as reader:
            assert reader.page("a.pdf", 1).text.plain == "harbour tide"


def test_a_second_copy_writes_nothing(at):
    with create_store(at("folder", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 3), long_document("b.pdf", 2, of=5))
        copy_index(source, at("memory", "copy"))
        with open_store(at("memory", "copy")) as copy:
            with copy.reader() as reader:
                version = reader.version
            report = copy_index(source, at("memory", "copy"))
            assert (report.documents, report.unchanged, report.pages) == (0, 2, 0)
            with copy.reader() as reader:
                assert reader.version == version


def test_pages_are_committed_in_bounded_batches(at, monkeypatch):
    monkeypatch.setattr(copying, "MOST_PAGES", 4)
    sizes = []
    write = MemoryWriter.commit

    def noted(self, batch):
        sizes.append(sum(len(part.pages) for part in batch))
        write(self, batch)

    with create_store(at("folder", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 9), long_document("b.pdf", 1))
        monkeypatch.setattr(MemoryWriter, "commit", noted)
        told = []
        copy_index(source, at("memory", "copy"), progress=lambda *done: told.append(done))
    assert sizes == [4, 4, 2]
    assert told[-3:] == [(4, 10), (8, 10), (10, 10)]


# ---------------------------------------------------------------------- going on


def test_a_copy_that_was_stopped_goes_on_where_it_was(at, monkeypatch):
    monkeypatch.setattr(copying, "MOST_PAGES", 2)

    def stop(done: int, total: int) -> None:
        if (done, total) == (4, 9):
            raise KeyboardInterrupt

    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 7), long_document("b.pdf", 2))
        with pytest.raises(KeyboardInterrupt):
            copy_index(source, at("folder", "copy"), progress=stop)
        with open_store(at("folder", "copy")) as copy:
            assert {number for _, number in stored(copy)} == {1, 2, 3, 4}
            report = copy_index(source, at("folder", "copy"))
            assert (report.pages, report.compared) == (5, 5)
            assert stored(copy) == stored(source)


def test_a_new_version_of_a_document_replaces_it_whole(at, monkeypatch):
    monkeypatch.setattr(copying, "MOST_PAGES", 2)
    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 3))
        copy_index(source, at("folder", "copy"))
        before = stored(source)
        commit(source, long_document("a.pdf", 5, version="second"))
        with open_store(at("folder", "copy")) as copy:

            def stop(done: int, total: int) -> None:
                assert total == 5
                assert stored(copy) == (before if done < 5 else stored(source))
                if done == 4:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                copy_index(source, at("folder", "copy"), progress=stop)
            assert copy_index(source, at("folder", "copy")).pages == 1
            assert stored(copy) == stored(source)


def test_other_metadata_is_brought_up_to_date_without_the_pages(at):
    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 1), long_document("b.pdf", 1))
        copy_index(source, at("folder", "copy"))
        with source.writer() as writer:
            writer.set_metadata({"a.pdf": {"year": 2024}})
        report = copy_index(source, at("folder", "copy"))
        assert (report.pages, report.unchanged, report.metadata_changed) == (0, 2, 1)
        with open_store(at("folder", "copy")) as copy:
            assert documents_of(copy) == documents_of(source)


def test_pages_that_have_got_their_words_since_are_copied_again(at):
    silent = made_page(2, [Y], words_from="nowhere")
    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, document("scan.tiff", [made_page(1, [X]), silent]))
        copy_index(source, at("folder", "copy"))
        commit(source, document("scan.tiff", [made_page(1, [X]), made_page(2, [Z, Y])]))
        assert copy_index(source, at("folder", "copy")).pages == 1
        with open_store(at("folder", "copy")) as copy:
            assert stored(copy) == stored(source)
        assert copy_index(source, at("folder", "copy")).pages == 0


def test_what_only_the_copy_has_stays_unless_it_is_to_go(at):
    with (
        create_store(at("memory", "one"), settings_of()) as one,
        create_store(at("memory", "two"), settings_of()) as two,
    ):
        commit(one, long_document("a.pdf", 1))
        commit(two, long_document("b.pdf", 1))
        assert copy_index(one, at("folder", "both")).missing == []
        report = copy_index(two, at("folder", "both"))
        assert (report.missing, report.deleted) == (["a.pdf"], [])
        with open_store(at("folder", "both")) as both:
            assert [entry.name for entry in documents_of(both)] == ["a.pdf", "b.pdf"]
            report = copy_index(two, at("folder", "both"), delete_missing=True)
            assert (report.missing, report.deleted) == (["a.pdf"], ["a.pdf"])
            assert stored(both) == stored(two)


# ---------------------------------------------------------------------- a stricter copy


@pytest.mark.parametrize(
    ("spec", "codec"),
    [
        ("docpruner:k=0.5", None),
        ("docpruner:k=0+sem-cluster:factor=2", None),
        (None, "int8"),
        ("docpruner:k=0.5", "int2"),
        ("docpruner:k=0+sem-cluster:factor=2", "int4"),
    ],
)
def test_a_stricter_copy_is_byte_for_byte_a_copy_that_was_pruned(at, tmp_path, spec, codec):
    pages = [made_page(n, unit_vectors(20, 16, n), codec="float16", spec=SPEC) for n in range(1, 8)]
    settings = settings_of(dim=16, codec="float16", spec=SPEC)
    with create_store(at("folder", "source"), settings) as source:
        commit(source, document("a.pdf", pages))
        report = copy_index(source, at("folder", "strict"), spec=spec, codec=codec)
        copy_index(source, at("folder", "pruned"))
        with open_store(at("folder", "pruned")) as pruned, open_store(at("folder", "strict")) as it:
            done = prune(pruned, spec, codec=codec)
            assert (report.vectors_before, report.vectors) == (done.before, done.after)
            assert stored(it) == stored(pruned) != stored(source)
            with it.reader() as reader, pruned.reader() as other:
                assert reader.settings == other.settings
    segments = [
        b"".join(path.read_bytes() for path in sorted((tmp_path / name / "segments").iterdir()))
        for name in ("strict", "pruned")
    ]
    assert segments[0] == segments[1]


def test_a_milder_spec_is_refused_before_anything_is_made(at):
    pages = [made_page(n, unit_vectors(20, 4, n), spec=SPEC) for n in range(1, 4)]
    with create_store(at("memory", "source"), settings_of(spec=SPEC)) as source:
        commit(source, document("a.pdf", pages))
        with pytest.raises(SpecError, match="index the documents again to keep more"):
            copy_index(source, at("folder", "copy"), spec="docpruner:k=-1")
        with pytest.raises(SpecError, match="can't be computed from what is left"):
            copy_index(source, at("folder", "copy"), spec="sem-cluster:factor=2")
        with pytest.raises(CodecError, match="no codec 'int3'"):
            copy_index(source, at("folder", "copy"), codec="int3")
        assert not store_exists(at("folder", "copy"))


# ---------------------------------------------------------------------- what can't be done


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoder": "other"}, "has encoder other, and the copy would have made"),
        ({"spec": "docpruner:k=1"}, "has spec docpruner:k=1, and .* ask for the spec it has"),
        ({"codec": "int8"}, "has codec int8, and .* ask for the codec it has"),
        ({"importances": False}, "copy to another location"),
        ({"root": "/data"}, "has root /data, and the copy would have none"),
    ],
)
def test_an_index_that_does_not_fit_is_left_as_it_is(at, change, said):
    with create_store(at("memory", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 1))
        settings = replace(settings_of(), **change)
        with create_store(at("memory", "copy"), settings) as copy:
            with pytest.raises(IndexStateError, match=said):
                copy_index(source, at("memory", "copy"))
            assert stored(copy) == {}


def test_a_copy_needs_a_place_of_its_own(at):
    with create_store(at("folder", "source"), settings_of()) as source:
        with pytest.raises(IndexStateError, match="can't be copied to itself"):
            copy_index(source, source.location)
        with pytest.raises(IndexStateError, match="could not be opened again; give it a name"):
            copy_index(source, None)


def test_damage_is_not_copied(at, tmp_path):
    with create_store(at("folder", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 3))
        (segment,) = (tmp_path / "source" / "segments").iterdir()
        content = bytearray(segment.read_bytes())
        content[5] ^= 1
        segment.write_bytes(content)
        with pytest.raises(DamagedIndexError, match="take them out with: docpruner verify"):
            copy_index(source, at("memory", "copy"))
        assert not store_exists(at("memory", "copy"))
        source.verify()
        assert copy_index(source, at("memory", "copy")).pages == 2


def test_a_store_that_gives_back_something_else_is_found_out(at, monkeypatch):
    read = MemoryReader.page

    def flipped(self, name, number):
        page = read(self, name, number)
        if name != "b.pdf" or number != 2:
            return page
        rows = np.array(page.vectors.rows)
        rows[0, 0] ^= 1
        return replace(page, vectors=replace(page.vectors, rows=rows))

    with create_store(at("folder", "source"), settings_of()) as source:
        commit(source, long_document("a.pdf", 2), long_document("b.pdf", 2))
        with monkeypatch.context() as broken:
            broken.setattr(MemoryReader, "page", flipped)
            with pytest.raises(DamagedIndexError, match=r"b.pdf#2 other than it was written"):
                copy_index(source, at("memory", "copy"))
        with open_store(at("memory", "copy")) as copy:
            assert {name for name, _ in stored(copy)} == {"a.pdf"}
            assert copy_index(source, at("memory", "copy")).pages == 2
            assert stored(copy) == stored(source)


# ---------------------------------------------------------------------- roots


def test_a_copy_finds_the_files_of_an_index_with_a_root(tmp_path):
    path = text_pdf(tmp_path / "files" / "a.pdf", "harbour tide")
    where = {"inner": tmp_path / "x" / "y" / "copy", "memory": "memory://copy-with-root"}
    with Index.create(tmp_path / "index", encoder=WordEncoder(), root=path.parent) as index:
        index.add(path)
        for place in where.values():
            index.copy_to(place)
            assert index.copy_to(place).unchanged == 1
            with Index.open(place, encoder=WordEncoder()) as copy:
                assert copy.search("harbour")[0].text == "harbour tide"
                assert copy.file_of("a.pdf") == os.fspath(path)
                assert copy.add(path).documents == {"unchanged": 1}
