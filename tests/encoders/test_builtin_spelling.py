"""Words as their letters tell them apart, alone and mixed into the model's vectors."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from docpruner.encoders.builtin_spelling import (
    DIM,
    FOREIGN,
    WORD,
    Spelling,
    share,
    spelling,
    told_apart,
    written,
)


def alike(one: str, other: str) -> float:
    first, second = spelling([one])[0], spelling([other])[0]
    return float(first @ second)


def pieces(words: list[str]) -> list[list[int]]:
    """A model that knows words of up to five letters as a whole, and else has pieces of three."""
    return [[0] * (1 if len(word) <= 5 else -(-len(word) // 3)) for word in words]


def test_a_spelling_is_the_same_in_every_process():
    words = ["KX-4071-B", "Größe", "пакет", "東", "京"]
    program = (
        "from docpruner.encoders.builtin_spelling import spelling;"
        f"import sys; sys.stdout.buffer.write(spelling({words!r}).tobytes())"
    )
    other = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert spelling(words).tobytes() == other.stdout


def test_a_spelling_is_of_unit_length():
    words = ["a", "KX-4071-B", "Donaudampfschifffahrt", "пакет", "東", "京", "ソ", "2021-03-17"]
    assert np.linalg.norm(spelling(words), axis=1) == pytest.approx(1.0, abs=1e-5)
    assert spelling([]).shape == (0, DIM)


@pytest.mark.parametrize("dim", [64, 256, 512])
def test_a_spelling_has_as_many_dimensions_as_the_vectors_it_is_mixed_into(dim):
    words = ["KX-4071-B", "Größe", "東", "京", "…"]
    vectors = np.eye(len(words), dim, dtype=np.float32)
    mixed = Spelling(pieces).mixed(words, vectors)
    assert mixed.shape == (len(words), dim)
    assert np.linalg.norm(mixed, axis=1) == pytest.approx(1.0, abs=1e-5)
    part, number = spelling(words[:1], dim)[0], share(words[0], len(pieces(words)[0]))
    assert float(mixed[0] @ part) == pytest.approx(np.sqrt(number), abs=0.2)
    assert mixed[-1] == pytest.approx(vectors[-1])  # signs alone


@pytest.mark.parametrize(
    "other",
    ["kx-4071-b", "(KX-4071-B),", "KX–4071–B", "ＫＸ-４０７１-Ｂ", "„KX-4071-B“", "KX\u20114071-B"],
)
def test_case_signs_at_the_edges_and_forms_do_not_count(other):
    assert alike("KX-4071-B", other) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KX-4071-B", "KX-4071-D"),
        ("KX-4071-B", "KX-4017-B"),
        ("SN8830412775", "SN8830412776"),
        ("2021-03-17", "2021-03-18"),
        ("4.17.2", "4.1.72"),
        ("12.1", "1.21"),
    ],
)
def test_identifiers_that_differ_in_one_place_are_told_apart(one, other):
    assert alike(one, other) < 0.6


def test_forms_of_a_word_are_alike_and_other_words_are_not():
    assert alike("Paketverwaltung", "Paketverwaltungen") > 0.5
    assert alike("пакета", "пакетов") > 0.4
    assert alike("Größe", "Grösse") == pytest.approx(1.0, abs=1e-5)  # its case folded is the same
    assert alike("café", "cafe") > 0.5
    assert alike("resume", "Fenster") < 0.3


def test_a_part_of_an_identifier_is_like_it():
    assert alike("ISO/IEC-27001", "27001") > alike("ISO/IEC-27001", "27002") + 0.1
    assert alike("KX4071B", "KX-4071-B") > alike("KX4071B", "KX-4017-B") + 0.05


def test_words_that_share_nothing_are_nearly_orthogonal():
    words = [f"{a}{b}{a}{b}" for a in "abcdefgh" for b in "stuvwxyz"]
    products = spelling(words) @ spelling(words).T
    away = products[~np.eye(len(words), dtype=bool)]
    assert abs(float(away.mean())) < 0.05
    assert float(np.abs(away).max()) < 0.6


def test_a_character_carries_its_neighbours():
    tokyo, kyoto = spelling(list("東京に")), spelling(list("に京都"))
    in_tokyo, in_kyoto = tokyo[1], kyoto[1]  # 京
    (asked,) = spelling(list("東京"))[1:]
    assert asked @ in_tokyo > asked @ in_kyoto + 0.3
    assert asked @ in_kyoto > 0.1  # the character alone


def test_a_space_or_a_latin_word_ends_the_neighbourhood():
    assert spelling(["A4", "京", "B5"])[1] == pytest.approx(spelling(["京"])[0])


def test_a_character_stands_on_a_page_again_only_with_the_one_that_follows_it():
    assert told_apart([*"安装安全安装", "(Oil)", "oil"]) == [
        *("安装", "装安", "安全", "全安", "安装", "装"),
        *("oil", "oil"),
    ]


@pytest.mark.parametrize("word", ["", "…", "---", "☃", "\u200b", "_"])
def test_a_word_of_signs_has_no_spelling(word):
    assert written(word) == ""
    assert not spelling([word]).any()
    assert share(word, 1) == 0.0


def test_strange_words_have_a_spelling_too():
    strange = ["\ud800x", "a" * 5000, "ﬁnd", "한국어", "ไทย", "٣٤", "x²"]
    assert np.isfinite(spelling(strange)).all()
    assert alike("ﬁnd", "find") == pytest.approx(1.0)
    assert alike("한국어", "한국어를") > 0.4


def test_the_less_the_model_knows_a_word_the_more_its_spelling_counts():
    shares = [share("word", 1), share("tokenizer", 2), share("Paketverwaltung", 5)]
    assert shares == sorted(shares)
    assert shares[0] == WORD[0]
    assert share("пакет", 1) == share("東", 1) == FOREIGN[0]


def test_mixed_vectors_are_of_unit_length_and_known_words_keep_their_meaning():
    random = np.random.default_rng(1)
    meaning = random.normal(size=(4, DIM)).astype(np.float32)
    meaning /= np.linalg.norm(meaning, axis=1, keepdims=True)
    words = ["oil", "KX-4071-B", "東", "…"]
    mixed = Spelling(pieces).mixed(words, meaning)
    assert mixed.dtype == np.float32
    assert np.linalg.norm(mixed, axis=1) == pytest.approx(1.0, abs=1e-5)
    kept = (mixed * meaning).sum(axis=1)
    assert kept[0] > 0.9
    assert kept[1] < 0.75
    assert mixed[3] == pytest.approx(meaning[3], abs=1e-6)


def test_the_same_unknown_word_matches_whatever_the_model_thinks_of_its_surroundings():
    random = np.random.default_rng(2)
    meaning = random.normal(size=(2, DIM)).astype(np.float32)
    meaning /= np.linalg.norm(meaning, axis=1, keepdims=True)
    spelt = Spelling(pieces)
    asked = spelt.mixed(["KX-4071-B"], meaning[:1])
    same, near = (spelt.mixed([word], meaning[1:]) for word in ("KX-4071-B", "KX-4071-D"))
    assert (asked @ same.T).item() > 0.6
    assert (asked @ same.T).item() > (asked @ near.T).item() + 0.2


def test_a_page_of_words_costs_a_millisecond_a_hundred():
    words = [f"word{i % 1000}" for i in range(10_000)]
    spelling(words)
    start = time.process_time()
    spelling(words)
    assert time.process_time() - start < 100 * 1e-3 * 3  # three times slack for a busy machine
