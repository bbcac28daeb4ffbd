"""The shipped encoder itself, on small real pages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("onnxruntime", reason="needs onnxruntime")
pytest.importorskip("tokenizers", reason="needs tokenizers")

import numpy as np
from PIL import Image

from docpruner.encoders import load_encoder
from docpruner.encoders.builtin import (
    ARTEFACTS,
    GRID,
    NAME,
    BuiltinEncoder,
    cells_of,
)
from docpruner.encoders.builtin_editions import EDITIONS, V1, V2, newer_edition
from docpruner.encoders.builtin_windows import OVERLAP, WINDOW, spans
from docpruner.errors import EncoderError, NoWordsWarning
from docpruner.maxsim import maxsim
from docpruner.types import Page, Word

TEXTS = {
    "bread": "Mix flour, water, salt and yeast. Let the dough rise for two hours, then bake it.",
    "engine": "Check the oil level of the engine weekly and replace the filter every 10,000 km.",
    "glacier": "Between 1980 and 2020 the glacier lost a third of its ice because summers warmed.",
}
FIRST_OF_V1 = (0.04262, 0.06161, -0.05863, 0.12552)
IMPORTANCE_OF_V1 = (2.4162, 2.4064, 1.7661, 1.2036)


def page(name: str, text: str) -> Page:
    words = text.split()
    boxes = [((i % 10) / 10, i // 10 / 500, (i % 10 + 1) / 10, (i // 10 + 1) / 500)
             for i in range(len(words))]  # fmt: skip
    return Page(name, lambda: Image.new("RGB", (10, 10)), tuple(map(Word, words, boxes)))


@pytest.fixture(scope="module", params=EDITIONS)
def encoder(request) -> BuiltinEncoder:
    return BuiltinEncoder(request.param, threads=2)


def test_each_word_is_a_vector_at_its_place(encoder):
    (found,) = encoder.encode_pages([page("bread", TEXTS["bread"])])
    assert found.vectors.shape == (len(TEXTS["bread"].split()), encoder.dim)
    lengths = np.linalg.norm(found.vectors, axis=1)
    assert lengths == pytest.approx(encoder.edition.length_factor(len(lengths)), abs=1e-4)
    assert found.boxes[1] == pytest.approx([0.1, 0.0, 0.2, 1 / 500])
    assert found.grid == GRID


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long does the dough have to rise?", "bread"),
        ("When should I change the oil filter of my car?", "engine"),
        ("How much ice has melted due to climate change?", "glacier"),
    ],
)
def test_a_question_finds_its_page(encoder, question, answer):
    pages = encoder.encode_pages([page(name, text) for name, text in TEXTS.items()])
    scores = maxsim(encoder.encode_queries([question])[0], [found.vectors for found in pages])
    assert pages[int(np.argmax(scores))].name == answer


def test_a_pages_embedding_ignores_its_neighbours(encoder):
    pages = [page(name, text) for name, text in TEXTS.items()]
    together = encoder.encode_pages(pages)
    (alone,) = encoder.encode_pages(pages[1:2])
    assert np.array_equal(together[1].vectors, alone.vectors)
    assert np.array_equal(together[1].importance, alone.importance)


def test_importances_of_a_long_page_sum_to_its_words_and_prefer_what_says_something(encoder):
    words = (" ".join(TEXTS.values()) + " ").split() * 20  # several windows
    (found,) = encoder.encode_pages([page("long", " ".join(words))])
    assert len(found.vectors) == len(words) > 2 * WINDOW
    assert found.importance.sum() == pytest.approx(len(words), rel=1e-3)
    by_word = {word: found.importance[[w == word for w in words]].mean() for word in set(words)}
    assert by_word["glacier"] > 2 * by_word["the"]
    assert by_word["dough"] > 2 * by_word["and"]


def test_a_rare_word_of_a_query_counts_more_than_a_common_one(encoder):
    (query,) = encoder.encode_queries(["what is the viscosity of lubricants?"])
    counts = np.linalg.norm(query, axis=1)  # what is the viscosity of lubricants?
    assert counts[3] > 2 * counts[2]
    assert counts[5] > 2 * counts[0]


def test_a_page_without_words_is_one_vector_and_a_warning(encoder):
    pages = [page("empty.pdf#1", ""), page("bread", TEXTS["bread"]), Image.new("L", (5, 5))]
    with pytest.warns(NoWordsWarning, match=r"empty.pdf#1, image 2 \(2 of 3 pages\)"):
        empty, bread, image = encoder.encode_pages(pages)
    assert empty.vectors.shape == image.vectors.shape == (1, encoder.dim)
    assert tuple(empty.boxes[0]) == (0, 0, 1, 1)
    (query,) = encoder.encode_queries(["bake bread with yeast"])
    scores = maxsim(query, [empty.vectors, bread.vectors])
    assert scores[0] < scores[1] / 2


@pytest.mark.parametrize(
    "text", ["東 京 大 学", "\u200b \x00 \ufffd", "." * 900, "a" * 5000, "🙂 ∑"]
)
def test_strange_words_still_give_one_vector_each(encoder, text):
    (found,) = encoder.encode_pages([page("strange", text)])
    assert len(found.vectors) == len(text.split())
    assert np.isfinite(found.vectors).all()


def test_a_chinese_query_is_cut_as_the_text_layer_cuts_pages(encoder):
    (query,) = encoder.encode_queries(["東京 university"])
    assert len(query) == 3


def test_an_empty_query_is_an_error(encoder):
    with pytest.raises(EncoderError, match="query 1 is empty"):
        encoder.encode_queries(["bread", " "])


def test_a_damaged_artefact_is_refused(tmp_path):
    for path in ARTEFACTS.iterdir():
        shutil.copy(path, tmp_path)
    with (tmp_path / "tokenizer.json").open("a") as file:
        file.write(" ")
    with pytest.raises(EncoderError, match=r"tokenizer.json has sha256 .* expected"):
        BuiltinEncoder(artefacts=tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(EncoderError, match=r"lacks tokenizer.json; reinstall docpruner"):
        BuiltinEncoder(artefacts=tmp_path)


def test_the_artefact_is_small_named_and_licensed(encoder):
    name = encoder.edition.name
    assert encoder.name == name
    files = json.loads((ARTEFACTS / f"{name}.json").read_text())["sha256"]
    assert sum((ARTEFACTS / file).stat().st_size for file in files) <= 40e6
    licence = (ARTEFACTS / "LICENSE").read_text()
    assert "Apache License" in licence
    assert encoder.edition.model_file in licence


def test_the_first_edition_is_what_it_always_was():
    """Indexes made with it are there; these numbers are those of the release that made them."""
    (found,) = BuiltinEncoder("builtin-v1", threads=1).encode_pages([page("x", TEXTS["bread"])])
    assert found.vectors[0, :4] == pytest.approx(FIRST_OF_V1, abs=1e-4)
    assert found.importance[:4] == pytest.approx(IMPORTANCE_OF_V1, abs=1e-3)


@pytest.mark.parametrize("count", [1, 100, 254, 255, 600, 5000])
def test_every_word_belongs_to_one_window_and_has_context(count):
    lengths = np.random.default_rng(count).integers(1, 13, count)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    found = spans(starts, ends)
    owned = [word for _, _, own in found for word in range(*own)]
    assert owned == list(range(count))
    for first, last, own in found:
        assert first <= own[0] < own[1] <= last
        assert ends[last - 1] - starts[first] <= WINDOW
        if own[0] > 0:
            assert starts[own[0]] - starts[first] >= OVERLAP // 2 - 12


def test_a_words_cell_is_where_its_middle_lies():
    rows, columns = GRID
    boxes = np.array([[0, 0, 0.01, 0.01], [0.4, 0.4, 0.6, 0.6], [0.99, 0.99, 1, 1]], np.float32)
    assert cells_of(boxes).tolist() == [0, rows // 2 * columns + columns // 2, rows * columns - 1]


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=str)
def test_full_pages_have_shorter_vectors(edition):
    factor = edition.length_factor
    assert factor(edition.usual_words) == pytest.approx(1.0)
    assert factor(1) > factor(100) > 1 > factor(1000)


def test_importance_prefers_rare_words_and_their_first_time(encoder):
    text = "The glacier lost ice, and the glacier lost more ice than the lake"
    (found,) = encoder.encode_pages([page("glacier", text)])
    first, again, common = found.importance[1], found.importance[6], found.importance[0]
    assert first > again > 0
    assert first > common
    assert found.importance.mean() == pytest.approx(1.0, abs=1e-4)


def test_it_is_the_encoder_one_gets_without_asking():
    assert load_encoder().name == load_encoder(NAME).name == NAME == V2.name
    for odd in ({"prompt": "noise-filtering"}, {"name": "builtin-v9"}):
        with pytest.raises(EncoderError, match=f"the built-in one is {NAME} .*, and has no option"):
            load_encoder(**{"name": "builtin", **odd})


def test_an_older_edition_is_found_by_its_name():
    assert load_encoder("builtin-v1").name == "builtin-v1"
    assert newer_edition(V1.name) == V2.name
    for other in (V2.name, "vidore/colpali-v1.3"):
        assert newer_edition(other) is None


def test_the_newest_edition_has_256_dimensions_all_of_them_used():
    encoder = load_encoder()
    assert (encoder.dim, encoder.codec) == (256, "int2")
    found = encoder.encode_pages([page(name, text) for name, text in TEXTS.items()])
    vectors = np.concatenate([each.vectors for each in found])
    assert vectors.shape[1] == 256
    assert np.abs(vectors).max(axis=0).min() > 0.01


def test_it_needs_no_torch():
    program = """
import sys
from docpruner.encoders import load_encoder
load_encoder().encode_queries(["how long must dough rise?"])
assert not {"torch", "transformers"} & set(sys.modules), "torch was loaded"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_pages_and_queries_are_encoded_in_any_thread_as_alone(encoder):
    """A server encodes what is uploaded while it answers searches."""
    pages = [page(name, text) for name, text in TEXTS.items()]
    queries = list(TEXTS.values())
    alone = [each.vectors for each in encoder.encode_pages(pages)]
    asked = encoder.encode_queries(queries)

    def work(turn: int) -> bool:
        if turn % 2:
            same = zip(encoder.encode_queries(queries), asked, strict=True)
        else:
            same = zip((each.vectors for each in encoder.encode_pages(pages)), alone, strict=True)
        return all(np.array_equal(now, before) for now, before in same)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))
