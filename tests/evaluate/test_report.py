"""What a report says, draws and never does."""

import base64
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO, StringIO

import pytest
from PIL import Image
from rich.console import Console

from docpruner.codecs import CODEC_NAMES
from docpruner.errors import MissingExtraError
from docpruner.evaluate.measuring.results import Results
from docpruner.evaluate.report.console import latency_table, results_table
from docpruner.evaluate.report.findings import (
    default_setting,
    front,
    parameters,
    rivalries,
    smallest_enough,
    storage_front,
)
from docpruner.evaluate.report.html_report import write_report
from docpruner.evaluate.report.page_examples import Example, png
from docpruner.evaluate.report.report_tables import query_changes
from docpruner.evaluate.report.summary import summary
from docpruner.evaluate.report.wording import NBSP, change, percent, seconds, size
from docpruner.evaluate.report.written_files import draw_all
from evaluate.made_results import BASE, DEFAULT, LATENCY, made_results

pytest.importorskip("matplotlib", reason='figures need the extra "eval"')
pytest.importorskip("jinja2", reason='reports need the extra "eval"')

VOID = {"meta", "img", "input", "wbr", "br", "link", "hr"}
FIGURES = ["tradeoff", "storage", "distribution", "variants", "languages", "entropy"]


class Page(HTMLParser):
    """The tags, attributes and text of a page whose tags are all closed."""

    def __init__(self, text):
        super().__init__()
        self.attributes, self.text, self.scripts, self._open = [], "", "", []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attributes):
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag in ("td", "th"):
            self.text += " "

    def handle_data(self, data):
        if self._open and self._open[-1] in ("script", "style"):
            self.scripts += data
        else:
            self.text += data

    def values(self, tag, name):
        return [value for t, n, value in self.attributes if (t, n) == (tag, name)]


def said(text):
    return re.sub(r"\s+", " ", text.replace(NBSP, " "))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return draw_all(made_results(), tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def page(drawn, tmp_path_factory):
    results = made_results({"q003": "<script>alert(1)</script> & why?"})
    results = replace(results, notes=["<img src=x onerror=alert(2)>"])
    picture = png(Image.new("RGB", (40, 60), "white"))
    examples = [Example('a".pdf#1 <b>', "half of it is kept", picture)]
    path = write_report(results, tmp_path_factory.mktemp("report"), drawn, examples)
    return Page(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- figures


def test_every_figure_is_an_svg_that_parses_and_a_png(drawn):
    assert list(drawn) == FIGURES
    for path in drawn.values():
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        with Image.open(path.with_suffix(".png")) as picture:
            assert picture.width > 1000


def test_the_same_results_are_drawn_the_same_and_nothing_else_is_touched(drawn, tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    for name, path in draw_all(made_results(), tmp_path).items():
        assert path.read_bytes() == drawn[name].read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_what_results_can_not_fill_is_not_drawn(tmp_path):
    results = made_results()
    alone = [
        replace(s, entropy_correlation=None, by_language={"en": s.score})
        for s in results.settings
        if s.method in ("none", "docpruner") and s.codec == "float16"
    ]
    drawn = draw_all(replace(results, settings=alone), tmp_path)
    assert list(drawn) == ["tradeoff", "storage", "distribution"]
    assert draw_all(replace(results, settings=results.settings[:1]), tmp_path) == {}


def test_every_codec_has_a_mark_of_its_own():
    from docpruner.evaluate.report.storage_chart import MARKS

    assert set(MARKS) == set(CODEC_NAMES)
    assert len(set(MARKS.values())) == len(MARKS)


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"drawing figures needs the \"eval\" extra"):
        draw_all(made_results(), tmp_path)


# ---------------------------------------------------------------------- the page


def test_the_page_asks_no_other_host_for_anything(page):
    for _, name, value in page.attributes:
        if name in ("src", "href", "srcset", "action", "poster", "data"):
            assert value.startswith(("data:", "#"))
        assert "http:" not in value
        assert "https:" not in value
    assert not re.search(r"https?:|@import|url\(", page.scripts)
    assert "default-src 'none'" in " ".join(page.values("meta", "content"))


def test_every_figure_is_in_the_page_with_words_for_it(page, drawn):
    sources = page.values("img", "src")
    for path in drawn.values():
        inlined = base64.b64encode(path.read_bytes()).decode()
        assert f"data:image/svg+xml;base64,{inlined}" in sources
    assert len(page.values("img", "alt")) == len(sources) == len(drawn) + 1
    assert all(page.values("img", "alt"))


def test_texts_of_others_stay_texts(page):
    assert "<script>alert(1)</script> & why?" in page.text
    assert "<img src=x onerror=alert(2)>" in page.text
    assert "alert" not in page.scripts
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert 'a".pdf#1 <b>' in page.text


def test_every_setting_stands_in_the_table_with_numbers_to_sort_by(page):
    results = made_results()
    values = page.values("td", "data-value")
    assert len(values) == 7 * len(results.settings)
    assert float(values[0]) == results.base.score
    assert said(page.text).count("docpruner:k=-0.25") >= 3


def test_ids_are_unique_and_links_lead_to_them(page):
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("a", "href")} <= set(ids)


def test_a_page_of_the_base_alone_is_written_too(tmp_path):
    results = made_results()
    alone = replace(
        results,
        settings=results.settings[:1],
        per_query={"none": results.per_query["none"]},
        languages={},
    )
    text = write_report(alone, tmp_path, {}).read_text(encoding="utf-8")
    assert "Only the base was measured: nDCG@5 is 0.439." in Page(text).text


def test_pictures_of_pages_are_made_no_larger_than_they_are_shown():
    with Image.open(BytesIO(png(Image.new("L", (3000, 1500))))) as picture:
        assert picture.size == (1000, 500)


def test_every_word_follows_the_main_measure(drawn, tmp_path):
    results = replace(made_results(), measure="ndcg@10")
    figures = draw_all(results, tmp_path / "figures")
    same = [name for name in figures if figures[name].read_bytes() == drawn[name].read_bytes()]
    assert same == ["distribution", "entropy"]  # the others have it at an axis
    page = Page(write_report(results, tmp_path, figures).read_text(encoding="utf-8"))
    text = said(page.text + " ".join(page.values("img", "alt")))
    assert text.count("nDCG@10") > 10
    paper = [text[at.start() - 40 : at.start()] for at in re.finditer("nDCG@5", text)]
    assert len(paper) == 5
    assert all("the paper, " in before for before in paper)


def test_what_encoding_costs_stands_beside_the_paper(page, tmp_path):
    assert "Here encoding was not timed" in said(page.text)
    results = replace(made_results(), latency=LATENCY)
    timed = Page(write_report(results, tmp_path, {}).read_text(encoding="utf-8"))
    text = said(timed.text)
    assert "+60.00 % (0.30 s per page)" in text  # 0.8 against 0.5
    assert "vectors only 0.50 s – 8 0.47 s" in text
    assert "vectors and importance 0.70 s +40.0 % 8 –" in text
    assert "docpruner:k=-0.25 0.80 s +60.0 % 8 0.77 s (+60 % … +66 %)" in text
    assert "OCR, then the words alone 6.00 s 12 times 3 7.22 s (with BGE-M3)" in text
    assert summary(results)[-1].replace(NBSP, " ") == (
        "Encoding a page takes 0.50 s; with importance and `docpruner:k=-0.25`, 0.80 s (+60.0 %)."
    )


def test_queries_are_compared_by_the_names_of_settings():
    results = made_results()
    before, after = results.per_query["none"], results.per_query[DEFAULT]
    turned = {DEFAULT: after, "docpruner:k=1": before, "none": before}
    changes = query_changes(replace(results, per_query=turned))
    assert changes == query_changes(results)
    assert changes.spec == DEFAULT
    assert changes.lost == sum(after[query] < before[query] for query in before)
    assert query_changes(replace(results, per_query={"none": before, "random": after})) is None


# ---------------------------------------------------------------------- what is said


def with_default(**changes):
    results = made_results()
    settings = [
        replace(s, **changes) if (s.spec, s.codec) == (DEFAULT, "float16") else s
        for s in results.settings
    ]
    return replace(results, settings=settings)


def test_the_summary_is_computed():
    results = with_default(score=0.43, relative=0.43 / BASE, p=0.03, pruned=0.514)
    assert said(summary(results)[0]) == (
        "`docpruner:k=-0.25` stores 48.6 % of the patch vectors and keeps 97.9 % of nDCG@5 "
        "(0.439 → 0.430, p = 0.03). The loss is unlikely to be chance."
    )


def test_of_a_base_that_finds_nothing_no_share_is_told(tmp_path):
    results = made_results()
    nothing = [replace(s, score=0, relative=None) for s in results.settings]
    results = replace(results, settings=nothing)
    figures = draw_all(results, tmp_path / "figures")
    page = Page(write_report(results, tmp_path, figures).read_text(encoding="utf-8"))
    assert "– of nDCG@5 kept" in said(page.text)
    assert "Nothing is found even without pruning: nDCG@5 is 0.000" in said(page.text)
    table = printed(results_table(results), 80)
    assert not any("100.0%" in line for line in table)
    assert table[2].split()[:4] == ["base", "0.000", "0.048", "–"]
    assert smallest_enough(results) is results.base


def test_the_summary_names_the_smallest_that_is_good_enough():
    results = made_results()
    best = smallest_enough(results)
    good = [s for s in results.settings if s.score >= 0.99 * BASE]
    assert best.stored_bytes == min(s.stored_bytes for s in good)
    assert f"`{best.name}`" in summary(results)[1]


def test_the_summary_names_who_beats_the_default():
    text = said(" ".join(summary(with_default(score=0.40))))
    rival = next(s for s in made_results().settings if s.spec.startswith("pivot-threshold:k=-0.25"))
    assert f"`{rival.name}` ({rival.score:.3f} at {rival.pruned * 100:.1f} % pruned)" in text


def test_a_rival_prunes_as_much_and_ranks_better():
    for rivalry in rivalries(made_results()):
        for rival in rivalry.rivals:
            assert rival.pruned >= rivalry.setting.pruned
            assert rival.score > rivalry.setting.score
            assert rival.method != "docpruner"


def test_nothing_smaller_is_better_than_the_front():
    results = made_results()
    best = storage_front(results)
    for setting in best:
        better = [s for s in results.settings if s.score >= setting.score and s is not setting]
        assert all(s.stored_bytes > setting.stored_bytes for s in better)
    assert smallest_enough(results) in best
    assert front(best, lambda s: s.stored_bytes) == best


def test_without_the_papers_default_another_setting_is_spoken_of():
    results = made_results()
    others = [s for s in results.settings if s.spec != DEFAULT]
    assert default_setting(replace(results, settings=others)).spec == "docpruner:k=-0.5"
    assert default_setting(replace(results, settings=results.settings[:1])) is None


def test_numbers_read_well():
    assert said(percent(0.4864)) == "48.6 %"
    assert said(change(-0.0211)) == "−2.1 %"
    assert said(change(-0.0001)) == "+0.0 %"
    assert [said(size(n)) for n in (0, 830, 2734, 46_900, 999_600, 18.5e9)] == [
        "0 B", "830 B", "2.73 kB", "46.9 kB", "1.00 MB", "18.5 GB",
    ]  # fmt: skip
    assert [said(seconds(s)) for s in (7.22, 0.47, 0.0123, -0.001)] == [
        "7.22 s", "0.47 s", "0.0123 s", "−0.0010 s",
    ]  # fmt: skip
    assert parameters("docpruner:k=1e+1+sem-cluster:factor=2") == "k=1e+1+factor=2"
    assert parameters("none") == ""


# ---------------------------------------------------------------------- terminal and file


def printed(table, width):
    console = Console(width=width, file=StringIO())
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("measure", ["ndcg@5", "ndcg@10"])
def test_the_table_fits_the_terminal(width, measure):
    results = replace(made_results(), measure=measure)
    lines = printed(results_table(results), width)
    assert max(map(len, lines)) <= width
    assert lines[1].split()[1] == results.measure_name
    assert lines[1].split()[-1] == "search"
    assert lines[2].split()[:2] == ["base", "0.439"]
    rows = [line for line in lines if re.search(r"\d%$", line)]
    assert len(rows) == len(results.settings)
    assert sum(" * " in row for row in rows) == len(storage_front(results))
    methods = {setting.method for setting in results.settings} - {"none"}
    assert len(lines) == 2 + len(rows) + len(methods) + 2  # no row in two lines


def test_parameters_at_their_defaults_are_left_out_of_the_terminal():
    specs = {
        "docpruner:k=-0.25": "k=-0.25",  # all at their defaults: the first
        "docpruner:k=0,statistics=robust": "k=0 statistics=robust",
        "pivot-threshold:k=-0.25,k_dup=0.5,num_pivots=10": "k_dup=0.5",
        "pivot-threshold:k=0.5,k_dup=1,num_pivots=10": "k=0.5",
        "docpruner:k=-0.25+sem-cluster:factor=4": "k=-0.25 + factor=4",
    }
    results = made_results()
    settings = [
        replace(results.settings[1], spec=spec, method=f"m{number}", score=0)
        for number, spec in enumerate(specs)
    ]
    lines = printed(results_table(replace(results, settings=[results.base, *settings])), 100)
    names = [re.split(r" +0\.000", line)[0].strip() for line in lines if "0.000" in line]
    assert [name.removesuffix(" *") for name in names] == list(specs.values())


def test_what_encoding_costs_fits_the_terminal():
    lines = printed(latency_table(LATENCY), 80)
    assert max(map(len, lines)) <= 80
    assert said(lines[2]) == "vectors only 0.50 s – 0.47 s"
    assert said(lines[-1]) == "OCR, then the words alone 6.00 s 12 times 7.22 s (with BGE-M3)"
    assert len(lines) == 2 + 4
    lines = printed(latency_table(replace(LATENCY, ocr=None, ocr_pages=0)), 80)
    assert said(lines[-1]).endswith("alone not measured – 7.22 s (with BGE-M3)")


def test_a_report_can_be_made_again_from_its_results(tmp_path, drawn):
    results = replace(made_results(), latency=LATENCY, measure="ndcg@10")
    results.save(tmp_path)
    made_results().save(tmp_path / "untimed")
    assert Results.load(tmp_path / "untimed" / "results.json") == made_results()
    again = Results.load(tmp_path / "results.json")
    assert again == results
    first = write_report(results, tmp_path / "first", drawn).read_bytes()
    assert write_report(again, tmp_path / "second", drawn).read_bytes() == first
