"""Pruning what is stored gives what indexing with the stricter spec would have given."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from docpruner.codecs import encode
from docpruner.errors import SpecError
from docpruner.pages.file_source import FileSource
from docpruner.pipeline.add import add_documents
from docpruner.pipeline.prune import Pruned, prune
from docpruner.reduce import reducer
from docpruner.stores.folder.store import FolderStore
from docpruner.stores.page_map_bytes import pack
from docpruner.stores.records import StoredPage
from docpruner.stores.settings import Settings
from docpruner.types import PageEmbedding
from pipeline.made import SAMPLE_PDFS, WordEncoder, builtin, text_pdf
from stores.made import stats_of

SHIPPED = "docpruner:k=-0.25"
MERGED = "docpruner:k=-0.25+sem-cluster:factor=2"
Contents = dict[tuple[str, int], tuple[bytes, bytes]]


def indexed(folder: Path, spec: str, codec: str = "int8", files=SAMPLE_PDFS) -> Path:
    """The sample PDFs, indexed by the built-in encoder."""
    encoder = builtin()
    settings = Settings.new(encoder.name, encoder.dim, spec, codec)
    with FolderStore.create(str(folder), settings) as store:
        report = add(store, encoder, files)
    assert report.documents["added"] == len(files)
    return folder


def add(store: FolderStore, encoder, files):
    return add_documents(store, FileSource(files, pixels=None), encoder)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory) -> Path:
    return indexed(tmp_path_factory.mktemp("index") / "shipped", SHIPPED)


@pytest.fixture
def store(shipped, tmp_path):
    shutil.copytree(shipped, tmp_path / "copy")
    with FolderStore(tmp_path / "copy") as opened:
        yield opened


@pytest.fixture
def small(tmp_path):
    """One page of five words, all stored."""
    path = text_pdf(tmp_path / "a.pdf", "a bb ccc dddd eeeee")
    settings = Settings.new("words", 16, "none", "float32")
    with FolderStore.create(str(tmp_path / "small"), settings) as made:
        add(made, WordEncoder(), [path])
        yield made


def contents(store: FolderStore) -> Contents:
    """Of every page its rows and its map, to the byte."""
    return {
        (page.document, page.number): (page.vectors.rows.tobytes(), pack(page.provenance))
        for page in stored(store)
    }


def stored(store: FolderStore) -> list[StoredPage]:
    with store.reader() as reader:
        return [reader.page(*name) for name in reader.pages()]


def spec_of(store: FolderStore) -> str:
    with store.reader() as reader:
        return reader.settings.spec


def kept(store: FolderStore) -> list[list[int]]:
    """Of every page the patches that are left."""
    return [page.provenance.sources.tolist() for page in stored(store)]


# ---------------------------------------------------------------------- as if indexed with it


@pytest.mark.parametrize("spec", ["docpruner:k=0.5", f"{SHIPPED}+attention-ratio:ratio=0.5"])
def test_a_stricter_spec_gives_the_bytes_that_indexing_with_it_gives(store, tmp_path, spec):
    before = stats_of(store)
    done = prune(store, spec)
    with FolderStore(indexed(tmp_path / "afresh", spec)) as afresh:
        assert contents(store) == contents(afresh)
        assert stats_of(store).settings == stats_of(afresh).settings
        wanted, got = stats_of(afresh), stats_of(store)
    assert (done.before, done.after) == (before.vectors, got.vectors)
    assert (done.bytes_before, done.bytes_after) == (before.bytes_of_vectors, got.bytes_of_vectors)
    assert got.vectors == wanted.vectors < before.vectors
    assert got.pruned_by_page == wanted.pruned_by_page
    assert got.bytes_reclaimable == 0


def test_the_global_vector_is_there_for_a_strategy_that_looks_at_it(tmp_path):
    spec = "attention-similarity:k=0,alpha=0.5"
    files = SAMPLE_PDFS[:1]
    with FolderStore(indexed(tmp_path / "whole", "none", "float32", files)) as whole:
        prune(whole, spec)
        with FolderStore(indexed(tmp_path / "afresh", spec, "float32", files)) as afresh:
            assert contents(whole) == contents(afresh)


def test_merging_unrounded_vectors_gives_the_bytes_that_indexing_with_it_gives(tmp_path):
    article = [path for path in SAMPLE_PDFS if "article" in path.name]
    indexed(tmp_path / "pruned", SHIPPED, "float32", article)
    indexed(tmp_path / "afresh", MERGED, "float32", article)
    with FolderStore(tmp_path / "pruned") as store, FolderStore(tmp_path / "afresh") as afresh:
        prune(store, MERGED)
        assert contents(store) == contents(afresh)


def test_merging_takes_the_means_of_what_was_stored(store):
    before = {page.name: page for page in stored(store)}
    prune(store, MERGED)
    for after in stored(store):
        old = before[after.name].vectors
        sources = before[after.name].provenance.sources.tolist()
        place = {source: number for number, source in enumerate(sources)}
        merged = after.provenance
        special = after.special
        assert len(after.vectors) == max(1, (len(old) - special) // 2) + special
        assert sorted(merged.sources.tolist()) == sources
        groups = np.split([place[source] for source in merged.sources], merged.offsets[1:-1])
        means = np.stack([old.decode()[group].mean(axis=0) for group in groups])
        exact = encode(means, "int8").decode()
        assert np.abs(after.vectors.decode() - exact).max() < 2e-3  # a rounding


def test_importances_count_as_they_are_stored(tmp_path):
    """Two that differ by less than float16 can tell are alike, and of those the first stays."""

    class Close(WordEncoder):
        def encode_pages(self, pages):
            (page,) = super().encode_pages(pages)
            return [replace(page, importance=[0.1, 0.5, 0.50001, 1.0])]

    path = text_pdf(tmp_path / "a.pdf", "one two three four")
    half = "attention-ratio:ratio=0.5"
    for spec in ("none", half):
        with FolderStore.create(str(tmp_path / spec), Settings.new("words", 16, spec)) as store:
            add(store, Close(), [path])
            prune(store, half)
            assert kept(store) == [[1, 3]]


def test_steps_lead_where_one_stride_leads(shipped, store, tmp_path):
    shutil.copytree(shipped, tmp_path / "other")
    with FolderStore(tmp_path / "other") as other:
        for spec in ("docpruner:k=0", "docpruner:k=0.25", "docpruner:k=1"):
            prune(store, spec)
        prune(other, "docpruner:k=1")
        assert contents(store) == contents(other)


def test_what_is_added_afterwards_is_reduced_by_the_new_spec(small, tmp_path):
    prune(small, "attention-ratio:ratio=0.6")
    assert kept(small) == [[3, 4]]
    add(small, WordEncoder(), [text_pdf(tmp_path / "b.pdf", "x yy zzz")])
    assert kept(small) == [[3, 4], [1, 2]]


def test_an_unpruned_index_can_be_merged(small):
    prune(small, "sem-cluster:factor=5")
    assert [sorted(sources) for sources in kept(small)] == [[0, 1, 2, 3, 4]]
    assert stats_of(small).vectors == 1


def test_versions_on_their_way_in_are_reduced_too(small, tmp_path):
    """Else their document would end up with pages of two specs."""
    path = text_pdf(tmp_path / "a.pdf", "v ww xxx", "unreadable", "y zz")

    class Stopped(WordEncoder):
        def encode_pages(self, pages):
            if any(page.number == 3 for page in pages):
                raise ZeroDivisionError("stopped")
            return super().encode_pages(pages)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("docpruner.pipeline.add.FIRST_BATCH", 1)
        patch.setattr("docpruner.pipeline.add.MOST_PAGES", 1)
        with pytest.raises(ZeroDivisionError, match="stopped"):
            add(small, Stopped(), [path])
    assert kept(small) == [[0, 1, 2, 3, 4]]
    prune(small, "attention-ratio:ratio=0.7")
    add(small, WordEncoder(), [path])
    assert kept(small) == [[2], [1]]


# ---------------------------------------------------------------------- what is refused


def test_patches_that_are_gone_cannot_come_back(store):
    before = contents(store)
    told = r"docpruner:k=-0\.5 would keep \d+ patches of .*\.pdf#\d+ that docpruner:k=-0\.25 has"
    with pytest.raises(SpecError, match=told):
        prune(store, "docpruner:k=-0.5")
    assert contents(store) == before
    assert spec_of(store) == SHIPPED


def test_without_importances_nothing_can_be_pruned_further(tmp_path):
    settings = Settings.new("words", 16, "none", importances=False)
    with FolderStore.create(str(tmp_path), settings) as store:
        told = "made without the importances of its patches; index the documents again with docpr"
        with pytest.raises(SpecError, match=told):
            prune(store, "docpruner:k=0")


@pytest.mark.parametrize("old", ["none", "mean-similarity:ratio=0.2"])
@pytest.mark.parametrize("new", ["mean-similarity:ratio=0.5", "facility-location:ratio=0.5"])
def test_without_importances_vectors_alone_can_tell_what_goes(tmp_path, old, new):
    encoder = builtin()
    settings = Settings.new(encoder.name, encoder.dim, old, "float32", importances=False)
    spec = new if old == "none" else f"{old}+{new}"
    with (
        FolderStore.create(str(tmp_path / "pruned"), settings) as pruned,
        FolderStore.create(str(tmp_path / "fresh"), replace(settings, spec=spec)) as fresh,
    ):
        for store in (pruned, fresh):
            add(store, encoder, SAMPLE_PDFS[:1])
        done = prune(pruned, spec)
        assert done.after < done.before
        assert contents(pruned) == contents(fresh)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sem-cluster:factor=2", "docpruner:k=0"),
        ("sem-cluster:factor=2", "sem-cluster:factor=4"),
        ("docpruner:k=0", "sem-cluster:factor=4"),
        ("docpruner:k=0", "pool-1d:factor=4+docpruner:k=0"),
    ],
)
def test_what_depends_on_vectors_that_are_gone_is_refused(tmp_path, old, new):
    with FolderStore.create(str(tmp_path), Settings.new("words", 16, old)) as store:
        told = f"reduced by {old}, and {new} can't be computed from what is left. Add stages"
        with pytest.raises(SpecError, match=re.escape(told)):
            prune(store, new)


def test_a_spec_that_does_not_exist_is_refused(small):
    with pytest.raises(SpecError, match="no strategy 'docprune'"):
        prune(small, "docprune:k=1")


# ---------------------------------------------------------------------- how it goes


def test_a_dry_run_says_what_would_be_left_and_changes_nothing(store):
    before = contents(store)
    told = prune(store, "docpruner:k=0.5", dry_run=True)
    assert contents(store) == before
    assert spec_of(store) == SHIPPED
    assert prune(store, "docpruner:k=0.5") == told


def test_a_dry_run_refuses_what_the_run_would(store):
    with pytest.raises(SpecError, match="would keep"):
        prune(store, "none", dry_run=True)


def test_the_spec_that_an_index_has_changes_nothing(small):
    before = sorted((small.folder / "segments").iterdir())
    assert prune(small, "none") == Pruned(5, 5, 5 * 64, 5 * 64)
    assert sorted((small.folder / "segments").iterdir()) == before


@pytest.mark.parametrize("spec", ["attention-ratio:ratio=0.6", "sem-cluster:factor=2"])
def test_two_that_prune_alike_at_once_prune_once(small, spec):
    class Overtaken(FolderStore):
        def writer(self, wait=10.0):
            prune(small, spec)
            return super().writer(wait)

    with Overtaken(small.folder) as late:
        assert prune(late, spec) == Pruned(2, 2, 2 * 64, 2 * 64)
        assert contents(late) == contents(small)


def test_progress_counts_pages(store):
    told = []
    prune(store, "docpruner:k=1", progress=lambda done, of: told.append((done, of)))
    assert told == [(done, 29) for done in range(1, 30)]


def test_a_strategy_that_looks_at_vectors_sees_them_as_they_are_stored(tmp_path):
    """So the outcome is that of reducing what is stored, not of indexing again: int8 rounds."""
    spec = "attention-similarity:k=0,alpha=0.5"
    with FolderStore.open(
        str(indexed(tmp_path / "whole", "none", "int8", SAMPLE_PDFS[:1]))
    ) as whole:
        before = {page.name: page for page in stored(whole)}
        prune(whole, spec)
        for page in stored(whole):
            old = before[page.name]
            embedding = PageEmbedding(
                page.name,
                old.vectors.decode(),
                old.provenance.importance,
                old.provenance.grid,
                old.provenance.cells,
                old.provenance.boxes,
                old.provenance.global_vector,
            )
            expected = reducer(spec)(embedding).sources
            assert page.provenance.sources.tolist() == expected.tolist()
            assert np.array_equal(page.vectors.rows, old.vectors.rows[expected])
