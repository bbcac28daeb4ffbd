"""The names of public benchmarks, and the layout of each data set on the Hugging Face Hub."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal

from docpruner.errors import DataError

Layout = Literal["flat", "parts", "folders"]  # said in hub.py

VIDORE_V1 = (
    *("vidore/arxivqa_test_subsampled", "vidore/docvqa_test_subsampled"),
    *("vidore/infovqa_test_subsampled", "vidore/tabfquad_test_subsampled", "vidore/tatdqa_test"),
    *("vidore/shiftproject_test", "vidore/syntheticDocQA_artificial_intelligence_test"),
    *("vidore/syntheticDocQA_energy_test", "vidore/syntheticDocQA_government_reports_test"),
    "vidore/syntheticDocQA_healthcare_industry_test",
)
VIDORE_V2 = (
    *("vidore/esg_reports_v2", "vidore/biomedical_lectures_v2", "vidore/economics_reports_v2"),
    "vidore/esg_reports_human_labeled_v2",
)
VIDORE_V3 = (  # the public ones
    *("vidore/vidore_v3_computer_science", "vidore/vidore_v3_energy"),
    *("vidore/vidore_v3_finance_en", "vidore/vidore_v3_finance_fr", "vidore/vidore_v3_hr"),
    *("vidore/vidore_v3_industrial", "vidore/vidore_v3_pharmaceuticals"),
    "vidore/vidore_v3_physics",
)
JINAVDR = (  # those of the paper
    *("jinaai/europeana-de-news", "jinaai/beverages_catalogue_ru"),
    *("jinaai/shanghai_master_plan", "jinaai/automobile_catalogue_jp"),
)
JINAVDR_OTHERS = (
    *("jinaai/CharXiv-en", "jinaai/ChartQA", "jinaai/MMTab", "jinaai/airbnb-synthetic-retrieval"),
    *("jinaai/arabic_chartqa_ar", "jinaai/arabic_infographicsvqa_ar", "jinaai/arxivqa"),
    *("jinaai/docqa_artificial_intelligence", "jinaai/docqa_energy", "jinaai/docqa_gov_report"),
    *("jinaai/docqa_healthcare_industry", "jinaai/docvqa", "jinaai/donut_vqa"),
    *("jinaai/europeana-es-news", "jinaai/europeana-fr-news", "jinaai/europeana-it-scans"),
    *("jinaai/europeana-nl-legal", "jinaai/github-readme-retrieval-multilingual"),
    *("jinaai/hindi-gov-vqa", "jinaai/hungarian_doc_qa_hu", "jinaai/infovqa", "jinaai/jdocqa"),
    *("jinaai/jina_2024_yearly_book", "jinaai/medical-prescriptions", "jinaai/mpmqa-small"),
    *("jinaai/openai-news", "jinaai/owid_charts_en", "jinaai/plotqa", "jinaai/ramen_benchmark_jp"),
    *("jinaai/shiftproject", "jinaai/stanford_slide", "jinaai/student-enrollment"),
    *("jinaai/tabfquad", "jinaai/table-vqa", "jinaai/tatqa", "jinaai/tqa"),
    *("jinaai/tweet-stock-synthetic-retrieval", "jinaai/wikimedia-commons-documents-ml"),
    "jinaai/wikimedia-commons-maps",
)

_RENAMED = {
    "jinaai/hungarian_doc_qa_hu": "jinaai/hungarian_doc_qa_beir",
    "jinaai/mpmqa-small": "jinaai/mpmqa_small_beir",
}


def _as_beir(name: str) -> str:
    """The same data set of JinaVDR as mteb reads it, which is the one whose commit is known."""
    return _RENAMED.get(name, f"{name}_beir")


GROUPS = {
    "vidore-v1": VIDORE_V1,
    "vidore-v2": VIDORE_V2,
    "vidore-v3": VIDORE_V3,
    "jinavdr": tuple(map(_as_beir, JINAVDR)),
    "jinavdr-all": tuple(map(_as_beir, JINAVDR + JINAVDR_OTHERS)),
}

_LANGUAGE = {  # of all queries of a data set whose tables don't say it
    "jinaai/europeana-de-news": "de",
    "jinaai/beverages_catalogue_ru": "ru",
    "jinaai/shanghai_master_plan": "zh",
    "jinaai/automobile_catalogue_jp": "jp",
}
_LANGUAGES = {  # of which each has pages of its own
    "jinaai/airbnb-synthetic-retrieval": "ar de en es fr hi hu jp ru zh",
    "jinaai/github-readme-retrieval-multilingual": (
        "ar bn de en es fr hi id it jp ko nl pt ru th vi zh"
    ),
    "jinaai/tweet-stock-synthetic-retrieval": "ar de en es fr hi hu jp ru zh",
    "jinaai/wikimedia-commons-documents-ml": (
        "ar bn de en es fr hi hu id it jp ko my nl pt ru th ur vi zh"
    ),
}


def _with_beir() -> dict[str, tuple[Layout, str]]:
    """Every data set with its layout, and the name of its first publication."""
    known: dict[str, tuple[Layout, str]] = {}
    for name in VIDORE_V2 + VIDORE_V3:
        known[name] = "parts", name
    for name in VIDORE_V1:
        known[name] = "flat", name
        known[f"{name}_beir"] = "parts", name
    for name in JINAVDR + JINAVDR_OTHERS:
        known[name] = "flat", name
        known[_as_beir(name)] = "folders", name
    return known


_KNOWN = _with_beir()


def named(name: str) -> tuple[str, ...]:
    """The data sets of a benchmark, or the one of this name."""
    if name in GROUPS:
        return GROUPS[name]
    if name in _KNOWN:
        return (name,)
    short = {known.partition("/")[2]: known for known in _KNOWN}
    close = get_close_matches(name, [*GROUPS, *_KNOWN, *short], n=1, cutoff=0.5)
    hint = f" Did you mean {short.get(close[0], close[0])}?" if close else ""
    raise DataError(
        f"there is no benchmark {name!r}.{hint} Give one of {', '.join(GROUPS)}, one of their "
        f"data sets (such as {VIDORE_V2[0]}), or a folder with a copy of one"
    )


def layout_of(name: str) -> Layout:
    return _KNOWN[name][0]


def language_of(name: str) -> str:
    """Of all its queries; empty if unknown."""
    return _LANGUAGE.get(_KNOWN[name][1], "")


def languages_of(name: str) -> tuple[str, ...]:
    """The languages that a data set is divided into; none if it is whole."""
    return tuple(_LANGUAGES.get(_KNOWN[name][1], "").split())
