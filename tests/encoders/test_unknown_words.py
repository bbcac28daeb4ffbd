"""Words that the language model does not know are found by the shipped encoder all the same."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime", reason="needs onnxruntime")
pytest.importorskip("tokenizers", reason="needs tokenizers")

import numpy as np

from docpruner import reducer
from docpruner.codecs import encode
from docpruner.encoders.builtin import BuiltinEncoder
from docpruner.maxsim import score_pages
from docpruner.types import Page, Word

PARTS = [f"KX-40{a}{b}-{c}" for a in "17" for b in "25" for c in "BDR"]
DATES = [f"20{a}1-0{b}-1{c}" for a in "12" for b in "34" for c in "678"]
SENTENCES = (
    "Please order {} from the usual supplier before you open the cover of the engine.",
    "Check the oil level, replace {} and write the date into the log of the machine.",
    "{} was delivered late, so that the repair of the pump had to wait for two weeks.",
    "The pump needs {} after ten thousand hours, and the filter a little earlier.",
)
CHINESE = {
    "packages": "安装软件包以前请先更新软件源列表",
    "disk": "在硬盘上建立新的分区并选择文件系统",
    "network": "安装程序自动配置网络接口和域名服务器",
    "keyboard": "选择键盘布局以后设置系统的语言和时区",
}


def page(name: str, words: list[str]) -> Page:
    boxes = [(i / len(words), 0.1, (i + 1) / len(words), 0.2) for i in range(len(words))]
    return Page(name, lambda: None, tuple(map(Word, words, boxes)))


@pytest.fixture(scope="module", params=[False, True], ids=["meaning", "meaning and spelling"])
def encoder(request) -> BuiltinEncoder:
    encoder = BuiltinEncoder(threads=2)
    assert encoder._spelling
    if not request.param:
        encoder._spelling = None
    return encoder


def found(encoder, pages, queries, rule="none", codec="float32") -> list[str]:
    """The name of the first page for each query."""
    reductions = [reducer(rule)(each) for each in encoder.encode_pages(pages)]
    offsets = np.cumsum([0, *(len(each.vectors) for each in reductions)])
    stored = encode(np.concatenate([each.vectors for each in reductions]), codec)
    scores = score_pages(encoder.encode_queries(queries), stored, offsets)
    return [pages[first].name for first in scores.argmax(axis=1)]


@pytest.mark.parametrize(
    ("rule", "codec"), [("none", "float32"), ("docpruner:k=-0.25", "int2")], ids=str
)
@pytest.mark.parametrize("query", ["{}", "Which page says when {} was replaced?"])
@pytest.mark.parametrize("names", [PARTS, DATES], ids=["part numbers", "dates"])
def test_an_identifier_finds_its_page_among_those_that_differ_in_a_character(
    encoder, names, query, rule, codec
):
    pages = [
        page(name, SENTENCES[i % len(SENTENCES)].format(name).split())
        for i, name in enumerate(names)
    ]
    right = found(encoder, pages, [query.format(name) for name in names], rule, codec)
    hits = sum(map(str.__eq__, right, names))
    if encoder._spelling:
        assert hits == len(names)
    else:
        assert hits < len(names)  # else there would be nothing to mend


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("软件包", "packages"),
        ("文件系统", "disk"),
        ("网络接口", "network"),
        ("键盘布局", "keyboard"),
    ],
)
def test_a_chinese_word_finds_its_page(encoder, query, name):
    if not encoder._spelling:
        pytest.skip("found by chance or not at all")
    pages = [page(each, list(text)) for each, text in CHINESE.items()]
    assert found(encoder, pages, [query]) == [name]


def test_words_that_the_model_knows_are_still_found_by_their_meaning(encoder):
    texts = ["Let the dough rise for two hours, then bake it.", *SENTENCES]
    pages = [page(text, text.format("it").split()) for text in texts]
    assert found(encoder, pages, ["how long must bread rest?"]) == texts[:1]
