"""The page that `docpruner serve` shows, used as people use it: in Chromium, over the samples."""

import math
import re
import shutil
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

import docpruner
from docpruner import Index
from docpruner.web.names import document_id
from web.browsing import Visit, chromium, expect, picture, serving

SAMPLES = Path(docpruner.__file__).parent / "samples"
REPORT, ARTICLE = "annual-report.pdf", "tidal-energy-article.pdf"
QUESTION = "In which part of southern Europe did sales go down?"
EVIL = "<img src=x onerror=alert(1)>.png"  # and its file is gone
SECRET = "correct-hörse 100%"


@pytest.fixture(scope="module")
def site(samples_index, tmp_path_factory):
    index = shutil.copytree(samples_index, tmp_path_factory.mktemp("browser") / "samples.idx")
    with serving(index, "--allow-changes", "--no-token") as site:
        yield site


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server that wants a token, allows no changes, and lacks a file."""
    folder = tmp_path_factory.mktemp("guarded")
    shutil.copy(SAMPLES / "travel-expense-form.pdf", folder)
    shutil.copy(SAMPLES / "site-plan.png", folder / EVIL)
    with Index.create(folder / "few.idx") as new:
        new.add([folder / "travel-expense-form.pdf", folder / EVIL], ocr=False)
    (folder / EVIL).unlink()
    with serving(folder / "few.idx", token=SECRET) as site:
        yield site


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser, site):
    visit = Visit.begin(browser, site)
    yield visit
    visit.end()


@pytest.fixture
def page(visit):
    return visit.page


FAST = "words=false"


def ask(page, site, question=QUESTION):
    page.goto(site.address)
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    expect(page.locator("#hits a").first).to_be_visible()


def hash_of(page):
    return unquote(page.evaluate("location.hash")).replace("+", " ")


def set_knob(page, value):
    page.locator("#knob").fill(str(value))


# ------------------------------------------------------------------ search


def test_hits_are_the_servers_with_their_names_scores_and_words(page, site):
    ask(page, site)
    hits = site.get("search", q=QUESTION, k=12)["hits"]
    cards = page.locator("#hits > li")
    expect(cards).to_have_count(len(hits))
    for card, hit in zip(cards.all(), hits, strict=True):
        expect(card.locator(".snippet")).to_have_text(hit["snippet"])
        text = card.inner_text()
        assert hit["name"] in text
        assert f"page {hit['page']}\n" in text
        assert f"{hit['score']:.2f}" in text
    first = cards.first
    assert {"query": "sales", "page": "grew"} in hits[0]["matched"]
    expect(first.locator(".matched")).to_contain_text("sales → grew")
    expect(first.locator("mark").first).to_have_text("Europe")


def test_a_card_leaves_out_what_all_hits_have_in_common(page, site):
    hits = site.get("search", q="annual report", document=REPORT, k=12)["hits"]
    assert all({"query": "annual", "page": "Annual"} in hit["matched"] for hit in hits)
    page.goto(f"{site.address}#/search?q=annual report&document={REPORT}")
    snippets = page.locator("#hits .snippet")
    expect(snippets.first.locator("mark").first).to_have_text("Annual")
    assert page.locator("#hits .matched > span").count() == 0
    texts = snippets.all_inner_texts()
    assert len(set(texts)) == len(texts) == 12


def test_pages_can_be_grouped_by_their_document(page, site):
    page.goto(f"{site.address}#/search?q=annual revenue")
    expect(page.locator("#hits > li")).to_have_count(12)
    page.get_by_label("Group by document").check()
    hits = site.get("search", q="annual revenue", k=50)["hits"]
    names = list(dict.fromkeys(hit["name"] for hit in hits))
    expect(page.locator("#hits .hit-name")).to_have_text(names)
    expect(page.locator("#search-summary")).to_contain_text("32 pages in 6 documents")
    numbers = [hit["page"] for hit in hits if hit["name"] == REPORT]
    also = page.locator("#hits > li").first.locator(".also")
    expect(also.get_by_role("link")).to_have_text([str(number) for number in numbers[1:9]])
    expect(also).to_contain_text("and 4 more")
    page.reload()
    expect(page.locator("#hits > li")).to_have_count(6)
    page.locator("#q").fill("turbine")
    page.keyboard.press("Enter")
    expect(page.locator("#hits .hit-name").first).to_have_text(ARTICLE)
    assert page.get_by_label("Group by document").is_checked()
    page.locator("#hits .also a").first.click()
    expect(page.locator("#page-name")).to_have_text(ARTICLE)
    page.go_back()
    page.get_by_label("Group by document").uncheck()
    expect(page.locator("#hits > li")).to_have_count(12)


def test_a_query_that_nothing_really_matches_is_told_so(page, site):
    page.goto(f"{site.address}#/search?q=the of and")
    expect(page.locator("#search-summary")).to_contain_text("Nothing really matches.")
    page.goto(f"{site.address}#/search?q=dividend")
    expect(page.locator("#search-summary")).to_contain_text("12 pages, best first")


def test_the_query_can_be_cleared(page, site):
    ask(page, site)
    page.get_by_role("button", name="Clear the query").click()
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#q")).to_have_value("")
    expect(page.locator("#clear")).to_be_hidden()


def test_hits_do_not_wait_for_their_words(visit, site):
    page = visit.page
    held = []
    page.route(
        "**/api/search*", lambda r: r.continue_() if FAST in r.request.url else held.append(r)
    )
    with page.expect_request(lambda request: FAST not in request.url and "q=" in request.url):
        ask(page, site)
    assert page.locator("#hits > li").count() == 12
    assert page.locator("#hits mark").count() == 0
    held.pop().continue_()
    expect(page.locator("#hits mark").first).to_be_visible()


def test_hits_stay_when_their_words_can_not_be_had(visit, site):
    page = visit.page
    page.route("**/api/search*", lambda r: r.continue_() if FAST in r.request.url else r.abort())
    ask(page, site)
    page.wait_for_load_state("networkidle")
    assert page.locator("#hits > li").count() == 12
    expect(page.get_by_role("alert")).to_have_count(0)
    assert all("ERR_FAILED" in line for line in visit.wrong)  # the browser's own line about it
    visit.wrong.clear()


def test_thumbnails_are_fetched_when_they_come_into_view(page, site):
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    page.set_viewport_size({"width": 1280, "height": 400})
    ask(page, site)
    page.wait_for_load_state("networkidle")
    pictures = [url for url in fetched if "/image" in url]
    assert len(pictures) >= 4
    assert all("width=320" in url for url in pictures)
    expect(page.locator("#hits .loaded").first).to_be_visible()


def test_a_picture_seen_a_moment_ago_is_not_asked_for_again(page, site):
    asked = []
    page.on("request", lambda request: "/image" in request.url and asked.append(request.url))
    ask(page, site)
    expect(page.locator("#hits .loaded").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    before = len(asked)
    assert before >= 4
    page.goto(f"{site.address}#/search?q={QUESTION}&document=*report*")
    expect(page.locator("#hits > li").first.locator(".loaded")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert len(set(asked)) == len(asked)


def test_a_picture_on_its_way_is_not_asked_for_again(page, site):
    asked, held = [], []
    page.on("request", lambda request: "/image" in request.url and asked.append(request.url))
    page.route("**/image?*", lambda route: held.append(route))
    ask(page, site)
    expect(page.locator("#hits > li").first).to_be_visible()
    while len(held) < 4:
        page.wait_for_timeout(20)
    page.goto(f"{site.address}#/search?q={QUESTION}&document=*report*")
    expect(page.locator("#hits > li", has_text="annual-report.pdf")).to_have_count(12)
    for route in held:
        route.continue_()
    page.unroute("**/image?*")
    expect(page.locator("#hits > li").first.locator(".loaded")).to_be_visible()
    assert len(set(asked)) == len(asked)


def test_more_pages_go_on_where_the_first_ended(page, site):
    ask(page, site)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("#hits > li")).to_have_count(24)
    expect(page.locator("#hits a").nth(12)).to_be_focused()


def test_filters_narrow_a_search_down_and_stand_in_the_address(page, site):
    page.goto(site.address)
    page.locator("#narrow summary").click()
    page.get_by_label("Document", exact=True).fill("*article*")
    page.get_by_label("Pages", exact=True).fill("2-3")
    page.get_by_label("Search the pages").fill("turbine")
    page.keyboard.press("Enter")
    expect(page.locator("#hits > li")).to_have_count(2)
    page.reload()
    expect(page.locator("#hits > li")).to_have_count(2)
    assert page.get_by_label("Document", exact=True).input_value() == "*article*"


def test_no_hit_and_a_wrong_filter_say_what_to_do(visit, site):
    page = visit.page
    page.goto(f"{site.address}#/search?q=turbine&document=nothing.pdf")
    expect(page.get_by_text("No pages found.").last).to_be_visible()
    expect(page.get_by_text("Try other words or fewer filters.")).to_be_visible()
    page.goto(f"{site.address}#/search?q=turbine&metadata=2024")
    expect(page.get_by_role("alert")).to_contain_text("is not KEY=VALUE; write for example")
    assert all("422" in line for line in visit.wrong)  # the browser's own line about it
    visit.wrong.clear()


# ------------------------------------------------------------------ a page


def test_a_hit_opens_large_and_back_returns_to_it(page, site):
    ask(page, site)
    page.locator("#hits a").nth(1).click()
    hit = site.get("search", q=QUESTION)["hits"][1]
    expect(page.locator("#page-name")).to_have_text(hit["name"])
    expect(page.locator("#page-number")).to_contain_text(f"page {hit['page']} of 13")
    expect(page.locator("#word-summary")).to_contain_text(f"{hit['score']:.2f}")
    page.go_back()
    expect(page.locator("#hits a").nth(1)).to_be_focused()


def test_one_word_alone_is_another_picture_and_survives_a_reload(page, site):
    page.goto(site.page(REPORT, 3, q=QUESTION))
    sales = page.get_by_role("button", name=re.compile("^sales"))
    found = site.get(f"pages/{site.id_of(REPORT)}/3/hit", q=QUESTION)
    (match,) = [match for match in found["matches"] if match["word"] == "sales"]
    expect(sales).to_contain_text(f"{match['score']:.2f}")
    every = picture(page)
    sales.click()
    expect(sales).to_have_attribute("aria-pressed", "true")
    alone = picture(page)
    assert alone != every
    assert "word=7" in hash_of(page)
    page.reload()
    expect(sales).to_have_attribute("aria-pressed", "true")
    assert picture(page) == alone


def test_the_overlay_switches_between_matches_kept_and_the_plain_page(page, site):
    page.goto(site.page(REPORT, 3, q=QUESTION))
    expect(page.get_by_role("button", name="All words")).to_be_visible()
    pictures = {picture(page)}
    for name in ("Kept", "Plain", "Matches"):
        page.get_by_text(name, exact=True).click()
        pictures.add(picture(page))
    assert len(pictures) == 3
    page.get_by_text("Kept", exact=True).click()
    answer = site.get(f"pages/{site.id_of(REPORT)}/3")
    expect(page.locator("#page-vectors")).to_have_text(str(answer["kept_vectors"]))


def test_a_match_far_down_the_page_is_scrolled_to(browser, site):
    visit = Visit.begin(browser, site, reduced_motion="reduce")
    page = visit.page
    page.goto(site.page(REPORT, 6, q="electricity and heating bill"))
    expect(page.get_by_role("button", name="All words")).to_be_visible()
    expect(page.locator("#view-page")).not_to_have_class("busy")
    sheet = page.locator("#page-canvas").bounding_box()
    (best,) = site.get("search", q="electricity", document=REPORT, pages=6)["hits"]
    y = sheet["y"] + best["matches"][0]["boxes"][0][1] * sheet["height"]
    assert page.evaluate("scrollY") > 100
    assert 0 < y < 800
    visit.end()


def test_next_and_previous_stop_at_the_ends(page, site):
    page.goto(site.page(REPORT, 12, q=QUESTION))
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("#page-number")).to_have_text("page 13 of 13")
    expect(page.get_by_role("button", name="All words")).to_be_visible()  # matches of this page
    assert page.locator("#next").get_attribute("href") is None
    page.get_by_role("link", name="Previous page").click()
    expect(page.locator("#page-number")).to_have_text("page 12 of 13")


def test_the_original_file_can_be_had(page, site):
    page.goto(site.page(REPORT, 3))
    expect(page.locator("#page-number")).to_have_text("page 3 of 13")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.path().read_bytes() == (SAMPLES / REPORT).read_bytes()


def test_a_page_without_words_says_so(page, site):
    page.goto(site.page("landlord-letter-scan.tiff", 1))
    expect(page.get_by_text("No text was found on this page")).to_be_visible()


def test_a_file_that_is_gone_leaves_its_figures_and_its_name_is_only_text(browser, guarded):
    visit = Visit.begin(browser, guarded)
    page = visit.page
    page.goto(guarded.page(EVIL, 1))
    expect(page.locator("#page-name")).to_have_text(EVIL)
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("#page-vectors")).to_have_text("1")
    page.goto(f"{guarded.address}#/search")
    expect(page.locator(".thumb").get_by_text("The file is gone.")).to_be_visible()
    expect(page.locator(".hit-name", has_text=EVIL)).to_be_visible()
    assert all("Failed to load resource" in line for line in visit.wrong)
    page.context.close()


# ------------------------------------------------------------------ the explorer


def test_moving_k_changes_page_and_index_as_the_server_would(page, site):
    page.goto(site.page(REPORT, 5, show="explore"))
    expect(page.locator("#knob-value")).to_have_text("−0.25")
    seen = set()
    for k in (-1, -0.25, 0, 0.35, 1.5):
        set_knob(page, k)
        spec = f"docpruner:k={k}"
        answer = site.get(f"pages/{site.id_of(REPORT)}/5/reduction", spec=spec)
        expect(page.locator("#page-vectors")).to_have_text(str(answer["vectors"]))
        expect(page.locator("#page-bytes")).to_have_text(size(answer["bytes"]))
        whole = site.get("whatif", spec=spec)
        expect(page.locator("#whatif-spec")).to_have_text(spec)
        expect(page.locator("#whatif-vectors")).to_have_text(f"{whole['vectors']:,}")
        expect(page.locator("#whatif-pruned")).to_have_text(f"{100 * whole['pruned']:.0f}%")
        seen.add(picture(page))
    assert len(seen) == 5
    assert "spec=docpruner:k=1.5" in hash_of(page)
    page.reload()
    expect(page.locator("#knob-value")).to_have_text("1.5")


def size(count):
    return f"{count} bytes" if count < 1000 else f"{count / 1000:.1f} kB"


KEPT_HERE = """async ([page, factors]) => {
  const { above, adaptiveThreshold } = await import("/static/reduce.js");
  return factors.map((k) => above(page, adaptiveThreshold(page, k)).map(Number));
}"""


def test_the_browser_keeps_the_patches_that_the_server_keeps(page, site):
    page.goto(site.address)
    factors = [round(-1 + 0.05 * step, 2) for step in range(51)]
    path = f"pages/{site.id_of(REPORT)}/5"
    here = page.evaluate(KEPT_HERE, [site.get(path), factors])
    for k, kept in zip(factors, here, strict=True):
        assert kept == site.get(f"{path}/reduction", spec=f"docpruner:k={k}")["kept"], k


@pytest.mark.parametrize(
    ("strategy", "value", "spec"),
    [
        ("attention-ratio", 0.7, "attention-ratio:ratio=0.7"),
        ("attention-threshold", 1.5, "attention-threshold:threshold=1.5"),
        ("random", 0.3, "random:ratio=0.3"),
    ],
)
def test_other_strategies_keep_what_the_server_says(page, site, strategy, value, spec):
    page.goto(site.page(ARTICLE, 2, show="explore"))
    page.get_by_label("Strategy").select_option(strategy)
    set_knob(page, value)
    answer = site.get(f"pages/{site.id_of(ARTICLE)}/2/reduction", spec=spec)
    expect(page.locator("#page-vectors")).to_have_text(str(answer["vectors"]))
    expect(page.locator("#whatif-spec")).to_have_text(spec)


def test_a_budget_shows_the_setting_that_pruning_to_it_gives(page, site):
    page.goto(site.page(REPORT, 5, show="explore"))
    choices = site.get("budget")["choices"]
    most, least = choices[0]["bytes"], choices[-1]["bytes"]
    expect(page.locator("#budget-setting")).to_have_text("docpruner:k=-0.25 in int2")
    seen = set()
    for place in (100, 70, 40, 20, 0):
        page.locator("#budget").fill(str(place))
        allowed = math.ceil(least * (most / least) ** (place / 100))
        chosen = next(choice for choice in choices if choice["bytes"] <= allowed)
        setting = f"{chosen['spec']} in {chosen['codec']}"
        expect(page.locator("#budget-setting")).to_have_text(setting)
        expect(page.locator("#budget-bytes")).to_have_text(size(chosen["bytes"]))
        cost = chosen["ndcg_kept"]
        shown = "was not measured" if cost is None else f"kept {100 * cost:.1f}% of nDCG@5"
        expect(page.locator("#budget-cost")).to_contain_text(shown)
        k = chosen["spec"].removeprefix("docpruner:k=").replace("-", "−")
        expect(page.locator("#knob-value")).to_have_text(k)
        seen.add(setting)
    assert len(seen) == 5
    expect(page.locator("#budget-choice code").last).to_contain_text("--budget")


def test_the_explorer_opens_on_some_page_and_keeps_the_rule_from_page_to_page(page, site):
    page.goto(site.address)
    page.get_by_role("link", name="Explorer").click()
    expect(page.locator("#knob")).to_be_visible()
    set_knob(page, 0.5)
    expect(page.locator("#whatif-spec")).to_have_text("docpruner:k=0.5")
    last = page.locator("#page-number").inner_text()
    page.locator("#page-name").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#page-number")).not_to_have_text(last)
    expect(page.locator("#knob-value")).to_have_text("0.5")


# ------------------------------------------------------------------ the index


def test_the_index_page_tells_what_the_server_counts(page, site):
    page.goto(f"{site.address}#/index")
    answer = site.get("stats")
    expect(page.locator("#stat-documents")).to_have_text(str(answer["documents"]))
    expect(page.locator("#stat-pages")).to_have_text(str(answer["pages"]))
    expect(page.locator("#stat-pruned")).to_have_text(f"{100 * answer['pruned']:.1f}%")
    for part in ("builtin-v2", "docpruner:k=-0.25", "int2"):
        expect(page.locator(".pairs")).to_contain_text(part)
    page.get_by_label("Filter documents").fill("REPORT")
    expect(page.locator("#documents > li")).to_have_count(1)


def test_documents_are_added_with_their_problems_and_removed_after_a_question(page, site, tmp_path):
    form = shutil.copy(SAMPLES / "travel-expense-form.pdf", tmp_path / "another form.pdf")
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    page.goto(f"{site.address}#/index")
    expect(page.get_by_role("button", name="choose files")).to_be_visible()
    before = page.locator("#documents > li").count()
    page.locator("#files").set_input_files([form, broken])
    expect(page.locator("#job")).to_contain_text("2 pages added", timeout=20_000)
    expect(page.locator("#job")).to_contain_text("broken.pdf is")
    expect(page.locator("#documents > li")).to_have_count(before + 1)

    remove = page.get_by_role("button", name="Remove another form.pdf")
    remove.click()
    expect(page.get_by_role("dialog")).to_contain_text("Remove another form.pdf")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert "another form.pdf" in [d["name"] for d in site.get("documents")["documents"]]
    remove.click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("#documents > li")).to_have_count(before)
    assert "another form.pdf" not in [d["name"] for d in site.get("documents")["documents"]]


DROP = """(text) => {
  const carried = new DataTransfer();
  carried.items.add(new File([text], "dropped.txt"));
  document.getElementById("add").dispatchEvent(
    new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
}"""


def test_a_dropped_file_that_is_no_document_is_explained(visit, site):
    page = visit.page
    page.goto(f"{site.address}#/index")
    expect(page.locator("#add")).to_be_visible()
    page.evaluate(DROP, "not a document")
    expect(page.locator("#job .bad")).to_contain_text("dropped.txt")
    visit.wrong.clear()  # the browser's own line, if the server refuses it


# ------------------------------------------------------------------ for everybody

VIEWS = {
    "documents": "#/search",
    "hits": f"#/search?q={QUESTION}",
    "a hit": f"#/page/{document_id(str(SAMPLES / REPORT))}/3?q={QUESTION}",
    "the explorer": f"#/page/{document_id(str(SAMPLES / REPORT))}/5?show=explore",
    "the index": "#/index",
}


def seen(page, site):
    """Each view in turn, once all of it is there."""
    for name, where in VIEWS.items():
        page.goto("about:blank")
        page.goto(site.address + where)
        page.wait_for_load_state("networkidle")
        yield name


UNNAMED = """() => [...document.querySelectorAll("input, select, button, a, canvas, svg[role=img]")]
  .filter((item) => item.checkVisibility({ visibilityProperty: true }))
  .filter((item) => !(item.innerText || item.ariaLabel || item.title || item.labels?.length))
  .map((item) => item.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [320, 390])
def test_every_view_fits_a_phone_and_names_what_can_be_used(browser, site, width):
    visit = Visit.begin(browser, site, has_touch=True, is_mobile=True)
    visit.page.set_viewport_size({"width": width, "height": 844})
    for view in seen(visit.page, site):
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert visit.page.evaluate(UNNAMED) == [], view
        tops = visit.page.evaluate(NAVIGATION)
        assert max(tops) - min(tops) < 20, view  # in one line
    visit.end()


NAVIGATION = """() => [...document.querySelectorAll(".top > .brand, .top nav a")]
  .map((item) => item.getBoundingClientRect()).map((box) => (box.top + box.bottom) / 2)"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_cross_stands_beside_the_query(browser, site, width):
    visit = Visit.begin(browser, site, has_touch=True, is_mobile=width < 1000)
    page = visit.page
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{site.address}#/search?q={QUESTION}")
    expect(page.locator("#q")).to_have_value(QUESTION)
    room = page.evaluate("parseFloat(getComputedStyle(document.getElementById('q')).paddingRight)")
    field, cross = (page.locator(part).bounding_box() for part in ("#q", "#clear"))
    assert field["x"] + field["width"] - room <= cross["x"] + 3
    assert cross["x"] + cross["width"] <= field["x"] + field["width"]
    visit.end()


CONTRASTS = """() => {
  const light = (value) => {
    const [r, g, b] = value.match(/\\w\\w/g).map((pair) => parseInt(pair, 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => {
    const value = style.getPropertyValue(name).trim().slice(1);
    return light(value.length === 3 ? value.replace(/./g, "$&$&") : value);
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const pairs = {
    "--ink": ["--page", "--card", "--tint", "--bad-tint", "--well"],
    "--soft": ["--page", "--card", "--rule", "--well"],
    "--accent": ["--page", "--card", "--tint"],
    "--on-accent": ["--accent"], "--bad": ["--bad-tint"],
  };
  return Object.entries(pairs).flatMap(([text, grounds]) =>
    grounds.map((ground) => [text, ground, ratio(colour(text), colour(ground))]));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser, site, scheme):
    visit = Visit.begin(browser, site, color_scheme=scheme)
    visit.page.goto(f"{site.address}#/index")
    expect(visit.page.locator("#stat-pages")).to_be_visible()
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.findall(r"\d+", ground)[0]) < 60) == (scheme == "dark")
    weak = [pair for pair in visit.page.evaluate(CONTRASTS) if pair[2] < 4.5]  # AA
    visit.end()
    assert weak == []


def test_everything_can_be_reached_by_keyboard(page, site):
    page.goto(site.page(REPORT, 1))
    expect(page.locator("#page-name")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("#hits a").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hits a").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#hits a").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#page-number")).to_have_text("page 3 of 13")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#page-number")).to_have_text("page 4 of 13")
    page.keyboard.press("Escape")
    expect(page.locator("#hits a").nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_be_focused()


def test_a_server_that_is_gone_is_told_and_tried_again(visit, site):
    page = visit.page
    ask(page, site)
    page.route("**/api/**", lambda route: route.abort())
    page.locator("#q").fill("dividend")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server isn't responding")
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#hits a").first).to_be_visible()
    assert all("Failed to load resource" in line for line in visit.wrong)
    visit.wrong.clear()


def test_a_token_is_taken_from_the_address_and_stands_in_no_other(browser, guarded):
    visit = Visit.begin(browser, guarded)
    page = visit.page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{guarded.address}#token={quote(SECRET)}")
    expect(page.locator(".loaded").first).to_be_visible()
    assert page.url == guarded.address
    page.goto(f"{guarded.address}#/search?q=travel&document=*.pdf")
    expect(page.locator("#hits .loaded").first).to_be_visible()
    page.reload()
    expect(page.locator("#hits .loaded").first).to_be_visible()
    page.locator("#hits a").first.click()
    expect(page.locator("#page-number")).to_contain_text("of 2")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download").click()
    assert saved.value.suggested_filename == "travel-expense-form.pdf"
    original = (SAMPLES / "travel-expense-form.pdf").read_bytes()
    assert saved.value.path().read_bytes() == original
    page.goto(f"{guarded.address}#/index")
    expect(page.locator("#stat-pages")).to_be_visible()
    expect(page.locator("#add")).to_be_hidden()  # changes are not allowed here
    expect(page.get_by_role("button", name=re.compile("^Remove"))).to_have_count(0)
    assert any("/image" in url for url in asked)
    assert any("/original" in url for url in asked)
    assert not any(quote(SECRET) in url or "token=" in url for url in asked)
    assert "Failed to load" in visit.wrong.pop()  # the picture of the file that is gone
    visit.end()


def test_a_token_in_the_query_works_too(browser, guarded):
    visit = Visit.begin(browser, guarded)
    visit.page.goto(f"{guarded.address}?token={quote(SECRET)}#/search?q=travel&document=*.pdf")
    expect(visit.page.locator("#hits .loaded").first).to_be_visible()
    assert visit.page.url == f"{guarded.address}#/search?q=travel&document=*.pdf"
    visit.end()


def test_who_has_no_token_is_asked_for_it(browser, guarded):
    visit = Visit.begin(browser, guarded)
    page = visit.page
    page.goto(f"{guarded.address}#/search?q=travel&document=*.pdf")
    dialog = page.get_by_role("dialog", name="This index needs a token")
    expect(dialog.get_by_label("Token", exact=True)).to_be_focused()
    page.keyboard.type("something else")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("That isn't the right token.")
    page.keyboard.type(SECRET)
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#hits .loaded").first).to_be_visible()
    expect(page.locator("#index-name")).to_have_text("few.idx")
    assert SECRET not in page.url
    assert all("401" in line for line in visit.wrong)
    page.context.close()


def test_a_picture_that_has_not_changed_is_not_sent_again(page, site):
    requests = []
    page.on("requestfinished", lambda request: "/image" in request.url and requests.append(request))
    sizes = []
    for visit in (lambda: page.goto(site.address), page.reload):
        requests.clear()
        visit()
        expect(page.locator(".loaded").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert len(requests) >= 4
        sizes.append([request.sizes()["responseBodySize"] for request in requests])
    assert min(sizes[0]) > 1000
    assert max(sizes[1]) == 0
