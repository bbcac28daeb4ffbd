"""An index fits a budget: by the mildest setting that does, as predicted, also when it grows."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from docpruner.codecs import bytes_per_vector, encode
from docpruner.errors import BudgetError, IndexStateError, SpecError
from docpruner.facade import Index
from docpruner.pipeline import add
from docpruner.pipeline.budget import LADDER, Budget, steps_from
from docpruner.pipeline.measured_front import ndcg_kept
from docpruner.stores.settings import Settings
from docpruner.types import PageEmbedding
from pipeline.made import SAMPLE_PDFS, WordEncoder, builtin, text_pdf
from stores.made import unit_vectors

SMALLEST = min(SAMPLE_PDFS, key=lambda path: path.stat().st_size)
CATALOGUE_PAGE = 4096  # bytes; a catalogue is a whole number of them

# ---------------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("2GB", 2_000_000_000),
        ("4kB", 4000),
        ("4 KB", 4000),
        ("1.5 GiB", 3 * 2**29),
        ("64KiB", 65_536),
        ("2g", 2_000_000_000),
        ("1TB", 10**12),
        ("123", 123),
        (123, 123),
        (" 0.5 MB ", 500_000),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert Budget.read(text) == Budget(size)


def test_a_size_for_each_page():
    assert Budget.read("4kB/page") == Budget.read("4 kB / page") == Budget(4000, per_page=True)


@pytest.mark.parametrize(
    "text", ["", "big", "5XB", "-1MB", "1,5GB", "MB", "4iB", "1e9", "4kB/document", "nan"]
)
def test_what_is_no_size_says_how_to_write_one(text):
    with pytest.raises(BudgetError, match=re.escape(f"{text!r} is not a size; write it like 500M")):
        Budget.read(text)


@pytest.mark.parametrize("text", ["0", "0.0MB", "0.1"])
def test_a_budget_of_nothing_is_refused(text):
    with pytest.raises(BudgetError, match="holds nothing"):
        Budget.read(text)


@pytest.mark.parametrize("size", [1, 999, 1000, 1500, 2**20, 2_000_000_000, 10**15])
@pytest.mark.parametrize("per_page", [True, False])
def test_a_budget_is_written_exactly(size, per_page):
    assert Budget.read(str(Budget(size, per_page))) == Budget(size, per_page)


def test_a_budget_is_written_shortly():
    assert [str(Budget(size)) for size in (2 * 10**9, 1_500_000, 1500, 12)] == [
        *("2GB", "1500kB", "1500B", "12B"),
    ]


# ---------------------------------------------------------------------- the ladder


def steps(spec: str, codec: str, **more: bool) -> list[str]:
    return ["@".join(step) for step in steps_from(Settings.new("made", 128, spec, codec, **more))]


def test_first_go_bits_then_patches():
    assert steps("none", "int8")[:6] == [
        *("none@int8", "none@int4", "none@int2", "none@int1"),
        *("docpruner:k=-0.25@int1", "docpruner:k=0@int1"),
    ]


def test_the_ladder_goes_one_way():
    """Or a full index could not take the next step: neither bits nor patches come back."""
    for (k, codec), (next_k, next_codec) in pairwise(LADDER):
        assert bytes_per_vector(next_codec, 128) <= bytes_per_vector(codec, 128)
        assert k is None or (next_k is not None and next_k > k)


def test_what_is_gone_does_not_come_back():
    assert steps("docpruner:k=0.3", "int4")[:5] == [
        *("docpruner:k=0.3@int4", "docpruner:k=0.3@int2", "docpruner:k=0.3@int1"),
        *("docpruner:k=0.5@int1", "docpruner:k=1@int1"),
    ]
    assert steps("none", "float16")[:2] == ["none@float16", "none@int8"]
    assert steps("none", "binary")[:2] == ["none@binary", "docpruner:k=-0.25@binary"]
    assert steps("docpruner:k=9", "int1") == ["docpruner:k=9@int1"]


def test_what_else_a_spec_says_stays():
    assert steps("docpruner:k=0,floor=16", "int1")[1] == "docpruner:k=0.25,floor=16@int1"


@pytest.mark.parametrize(
    ("spec", "importances"),
    [("sem-cluster:factor=2", True), ("docpruner:k=0+pool-1d:factor=2", True), ("none", False)],
)
def test_only_the_codec_changes_where_no_k_can(spec, importances):
    codecs = ("int8", "int4", "int2", "int1")
    expected = [f"{spec}@{codec}" for codec in codecs]
    assert steps(spec, "int8", importances=importances) == expected


def test_what_was_not_measured_has_no_figure():
    assert ndcg_kept("none", "int8") == pytest.approx(1, abs=0.005)
    assert ndcg_kept("docpruner:k=7", "int1") is None


@pytest.mark.parametrize("through", ["int4", "int2"])
def test_bits_that_go_in_steps_are_those_that_go_at_once(through):
    """So that pages that came before and after a step of the ladder score alike."""
    vectors = unit_vectors(500, 128)
    straight = encode(vectors, "int1")
    around = encode(encode(vectors, through).decode(), "int1")
    assert np.array_equal(straight.rows[:, :-2], around.rows[:, :-2])
    lengths = [np.linalg.norm(each.decode(), axis=1) for each in (straight, around)]
    longer = lengths[1] / lengths[0] - 1
    assert abs(longer.mean()) < 0.005  # no drift
    assert np.abs(longer).max() < 0.1


# ---------------------------------------------------------------------- an index as it is


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The sample PDFs, all patches in float16."""
    folder = tmp_path_factory.mktemp("budget") / "whole"
    with Index.create(folder, encoder=builtin(), spec="none", codec="float16") as index:
        index.add(SAMPLE_PDFS)
    return folder


@pytest.fixture
def index(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "index")
    with Index.open(tmp_path / "index") as opened:
        yield opened


def size_of(index: Index) -> int:
    """Of the folder, whatever the index says of itself."""
    files = (path for path in Path(index.location).rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("step", [1, 4, 6, len(LADDER)])
def test_an_index_has_the_size_that_was_predicted(index, step):
    choice = index.budget_choices()[step]
    index.prune(budget=choice.bytes)
    assert (index.settings.spec, index.settings.codec) == (choice.spec, choice.codec)
    stats = index.stats()
    assert (stats.vectors, stats.bytes_of_vectors) == (choice.vectors, choice.bytes_of_vectors)
    assert size_of(index) == stats.bytes_on_disk <= choice.bytes
    assert choice.bytes - stats.bytes_on_disk <= 4 * CATALOGUE_PAGE  # of so few pages
    assert index.verify() == []


def test_of_more_pages_the_size_is_right_to_three_hundredths(tmp_path):
    """What is predicted is a little too much: compaction also tidies the catalogue."""
    dice = np.random.default_rng(3)
    with Index.create(tmp_path / "many", encoder=Wide(), spec="none") as index:
        index.add_embeddings(made(f"{number}.pdf", dice) for number in range(200))
        for wanted in (index.budget_choices()[2], index.budget_choices()[5]):
            index.prune(budget=wanted.bytes)
            assert index.settings.spec == wanted.spec
            assert 0.97 * wanted.bytes < size_of(index) <= wanted.bytes


class Wide(WordEncoder):
    dim = 128


def made(name: str, dice: np.random.Generator) -> PageEmbedding:
    patches = int(dice.integers(100, 200))
    vectors = dice.normal(size=(patches, 128)).astype(np.float32)
    weights = dice.exponential(size=patches).astype(np.float32)
    return PageEmbedding(name, vectors, weights, (1, patches), global_vector=vectors[0])


def test_the_mildest_that_fits_is_taken(index):
    choices = index.budget_choices()
    sizes = [choice.bytes for choice in choices]
    assert sizes == sorted(sizes, reverse=True)
    for place, wanted in ((3, sizes[3]), (4, sizes[3] - 1)):
        said = index.budget_choices(wanted)
        assert [choice.fits for choice in said] == [number >= place for number in range(len(said))]
        told = index.prune(budget=wanted, dry_run=True)
        assert told.bytes_after == choices[place].bytes_of_vectors
    assert index.settings.budget == ""
    index.prune(budget=sizes[3])
    assert (index.settings.spec, index.settings.codec) == ("none", "int2")


def test_a_budget_that_is_kept_already_changes_no_page(index):
    before = index.stats()
    done = index.prune(budget="2GB")
    assert (done.before, done.after) == (before.vectors, before.vectors)
    assert index.settings.budget == "2GB"
    assert index.stats().bytes_on_disk == before.bytes_on_disk
    index.prune(budget="none")
    assert index.settings.budget == ""
    assert index.verify() == []


def test_a_budget_that_can_not_be_met_says_the_least_size(index):
    least = index.budget_choices()[-1]
    told = f"29 pages can't be made to fit 50kB: the least possible is {least.bytes:,} bytes, as"
    with pytest.raises(BudgetError, match=re.escape(told)):
        index.prune(budget="50kB")
    assert (index.settings.spec, index.settings.budget) == ("none", "")
    index.prune(budget=least.bytes)
    special = sum(index.page(*name).special for name in index.pages())
    assert index.stats().vectors == least.vectors == 29 + special


def test_a_budget_for_each_page_says_the_least_for_each_page(index):
    with pytest.raises(BudgetError, match=r"the least possible is ([\d,]+) bytes a page") as raised:
        index.prune(budget="100/page")
    (least,) = re.findall(r"([\d,]+) bytes a page", str(raised.value))
    index.prune(budget=f"{least.replace(',', '')}/page")
    assert index.settings.spec == "docpruner:k=8"


def test_a_budget_chooses_spec_and_codec_itself(index):
    with pytest.raises(BudgetError, match="a budget chooses both"):
        index.prune("docpruner:k=1", budget="1MB")


def test_an_index_in_memory_has_a_budget_too():
    with Index.create(None, encoder=WordEncoder(), spec="none", budget="800B") as index:
        page = np.eye(16, dtype=np.float32)[:10]
        importance = np.arange(10, dtype=np.float32)
        pages = [PageEmbedding(f"{name}.pdf", page, importance, (1, 10)) for name in range(8)]
        report = index.add_embeddings(pages)
        assert [choice.name for choice in report.narrowed] == ["none in int4"]
        assert index.stats().bytes_on_disk == 8 * 10 * 10  # rows of 16 numbers in int4


# ---------------------------------------------------------------------- an index that grows


@pytest.fixture
def one_by_one(monkeypatch):
    monkeypatch.setattr(add, "FIRST_BATCH", 1)
    monkeypatch.setattr(add, "MOST_PAGES", 2)


@pytest.mark.usefixtures("one_by_one")
def test_adding_keeps_to_the_budget_at_every_moment(index, tmp_path):
    """It takes the same steps down as an index that is pruned when all is in."""
    wanted = index.budget_choices(460_000)
    (chosen, *_) = [choice for choice in wanted if choice.fits]
    sizes = []
    with Index.create(tmp_path / "new", encoder=builtin(), budget="460kB") as new:
        report = new.add(SAMPLE_PDFS, progress=lambda _: sizes.append(new.stats()))
        assert (new.settings.spec, new.settings.codec) == (chosen.spec, chosen.codec)
        assert new.settings.budget == "460kB"
        assert size_of(new) <= 460_000
        assert [choice.codec for choice in report.narrowed] == ["int4", "int2", "int1"]
        assert report.narrowed[-1].bytes <= 460_000
        assert new.verify() == []
        assert {new.page(*name).vectors.codec for name in new.pages()} == {"int1"}
    assert all(stats.bytes_of_vectors + stats.bytes_besides <= 460_000 for stats in sizes)


@pytest.mark.usefixtures("one_by_one")
def test_pages_on_their_way_in_get_the_setting_of_the_others(index, tmp_path):
    with Index.create(tmp_path / "new", encoder=builtin(), budget="310kB") as new:
        new.add(SAMPLE_PDFS)
        spec = new.settings.spec
        assert spec.startswith("docpruner:k=")
        index.prune(spec, codec="int1")
        for name in index.pages():
            ours, theirs = new.page(*name), index.page(*name)
            assert ours.vectors.codec == "int1"
            assert ours.provenance.sources.tolist() == theirs.provenance.sources.tolist()


def test_what_is_added_later_keeps_to_the_budget_too(tmp_path):
    with Index.create(tmp_path / "new", encoder=builtin(), budget="470kB") as new:
        assert new.add(SMALLEST).narrowed == []
        assert (new.settings.spec, new.settings.codec) == ("none", "int8")
    with Index.open(tmp_path / "new", encoder=builtin()) as again:
        assert again.add(SAMPLE_PDFS).narrowed != []
        assert size_of(again) <= 470_000
        with pytest.raises(IndexStateError, match="has spec none, not docpruner:k=1"):
            Index.open_or_create(tmp_path / "new", spec="docpruner:k=1")
    with Index.open_or_create(tmp_path / "new", encoder=builtin(), budget="325kB") as smaller:
        smaller.add(SAMPLE_PDFS)
        assert smaller.settings.budget == "325kB"
        assert size_of(smaller) <= 325_000


def test_a_reduction_that_is_asked_for_is_where_it_begins(tmp_path):
    spec = "docpruner:k=0"
    with Index.create(tmp_path / "new", encoder=builtin(), spec=spec, budget="1GB") as new:
        assert new.add(SAMPLE_PDFS[:1]).narrowed == []
        assert new.settings.spec == spec


def test_pages_beyond_what_any_setting_can_hold_are_an_error_and_lose_nothing(tmp_path):
    with Index.create(tmp_path / "new", encoder=builtin(), budget="90kB") as new:
        with pytest.raises(BudgetError, match="can't be made to fit 90kB: the least possible is"):
            new.add(SAMPLE_PDFS)
        assert new.verify() == []
        pages = new.stats().pages
        assert pages > 0
        new.prune(budget="none")
        assert new.add(SAMPLE_PDFS).pages == 29 - pages


def test_room_of_deleted_pages_is_given_back_before_anything_is_pruned(tmp_path):
    with Index.create(tmp_path / "new", encoder=builtin(), spec="none", codec="int8") as new:
        new.add(SAMPLE_PDFS)
        documents = [entry.name for entry in new.documents()]
        new.delete(documents[:-1])
        full = new.stats()
        allowed = full.bytes_on_disk - full.bytes_reclaimable // 2
    with Index.open_or_create(tmp_path / "new", encoder=builtin(), budget=allowed) as new:
        assert new.add(documents[-1]).narrowed == []
        assert new.settings.codec == "int8"
        assert size_of(new) <= allowed


def test_a_new_budget_is_read_before_anything_is_made(tmp_path):
    with pytest.raises(BudgetError, match="'lots' is not a size"):
        Index.create(tmp_path / "new", encoder=WordEncoder(), budget="lots")
    assert not (tmp_path / "new").exists()


def test_without_importances_only_bits_go(tmp_path):
    path = text_pdf(tmp_path / "a.pdf", "a bb ccc dddd eeeee")
    with Index.create(
        tmp_path / "new", encoder=WordEncoder(), spec="none", codec="int8", importances=False
    ) as new:
        new.add(path)
        assert [choice.name for choice in new.budget_choices()] == [
            *("none in int8", "none in int4", "none in int2", "none in int1"),
        ]
        with pytest.raises(SpecError, match="without the importances"):
            new.prune("docpruner:k=0")
