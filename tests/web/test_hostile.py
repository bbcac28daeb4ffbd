"""Names of files and words of pages that want to be obeyed, in a browser: they are text."""

from __future__ import annotations

import os
import random

import pytest

pytest.importorskip("playwright", reason="needs playwright (dev)")

from docpruner import Index
from docpruner.outside_text import visible
from pipeline.made import text_pdf
from test_cli_output import HOSTILE, Scan, Scans, hostile
from web.browsing import Visit, chromium, expect, serving

SEEDS = range(int(os.environ.get("DOCPRUNER_HOSTILE", "4")))
MARKUP = (
    "<img src=x onerror=alert(1)>", "<script>alert(1)<", "'\"><svg onload=alert(1)>", "&lt;b&gt;",
    "{{7*7}}", "javascript:alert(1)",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.mark.parametrize("seed", SEEDS)
def test_hostile_names_and_words_are_shown_and_do_nothing(browser, tmp_path, seed):
    rng = random.Random(seed)
    name = f"{hostile(rng)}{rng.choice(MARKUP)}".replace("/", "∕").replace("\n", "")
    document = text_pdf(tmp_path / "docs" / f"{name}.pdf", "lighthouse keeper")
    scan = Scan(f"/{hostile(rng)}/scan.tiff", [hostile(rng, 3), "lighthouse", rng.choice(MARKUP)])
    with Index.create(tmp_path / "index") as index:
        index.add(document, metadata={"note": hostile(rng) + rng.choice(MARKUP)})
        index.add_from(Scans(scan))
    with serving(tmp_path / "index", "--no-token") as site:
        answer = site.server.get("/api/search", params={"q": "lighthouse"})
        assert not HOSTILE & set(answer.text), ascii(answer.text)
        assert f"{name}.pdf" in {hit["name"] for hit in answer.json()["hits"]}
        visit = Visit.begin(browser, site)
        page = visit.page
        page.on("dialog", lambda _: visit.wrong.append("a dialog"))
        scripts = None
        for address in (
            f"{site.address}#/search?q=lighthouse",
            f"{site.address}#/index",
            site.page(f"{name}.pdf", 1, q="lighthouse"),
        ):
            page.goto(address)
            named = page.get_by_text(visible(f"{name}.pdf"))
            expect(named.locator("visible=true").first).to_be_visible()
            shown = page.locator("body").inner_text()
            assert not HOSTILE & set(shown) - {"\n", "\t"}, ascii(shown)
            there = page.locator("script").count()
            scripts = there if scripts is None else scripts
            assert there == scripts
        page.context.close()
        assert all("404" in line for line in visit.wrong), (
            visit.wrong
        )  # of the scan, whose file is gone
