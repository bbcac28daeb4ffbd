"""A real server and a real browser, and what the browser must not do while it is used."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

pytest.importorskip("playwright", reason="needs playwright (dev)")

from playwright.sync_api import Browser, Page, expect, sync_playwright

from web.running import Server, served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
expect.set_options(timeout=5_000)


@dataclass(frozen=True)
class Site:
    """A server as its API shows it, to compare with what the page shows."""

    server: Server
    token: str | None = None

    @property
    def address(self) -> str:
        return f"{self.server.url}/"

    def get(self, path: str, **query: object) -> Any:
        answer = self.server.get(f"/api/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def id_of(self, name: str) -> str:
        return self.server.ids()[name]

    def page(self, name: str, number: int, **query: object) -> str:
        rest = f"?{urlencode(query, quote_via=quote)}" if query else ""
        token = f"?token={quote(self.token)}" if self.token else ""
        return f"{self.address}{token}#/page/{self.id_of(name)}/{number}{rest}"


@contextmanager
def serving(index: Path, *options: str, token: str | None = None) -> Iterator[Site]:
    with served(index, *options, token=token) as server:
        yield Site(server, token)


@contextmanager
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        # no sandbox: tests may run as root, and the only site visited is ours
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


WATCH_POLICY = """
addEventListener("securitypolicyviolation",
  (event) => console.error("CSP: " + event.violatedDirective));
"""


@dataclass
class Visit:
    """A tab, and what was wrong in it."""

    page: Page
    wrong: list[str] = field(default_factory=list)

    @classmethod
    def begin(cls, browser: Browser, site: Site, **options: Any) -> Visit:
        page = browser.new_context(viewport={"width": 1280, "height": 800}, **options).new_page()
        visit = cls(page)
        host = urlsplit(site.address).netloc
        page.add_init_script(WATCH_POLICY)
        page.on("pageerror", lambda error: visit.wrong.append(f"exception: {error}"))
        page.on("request", lambda request: visit.check_host(request.url, host))
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and visit.wrong.append(said.text),
        )
        return visit

    def check_host(self, url: str, host: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != host:
            self.wrong.append(f"request to another host: {url}")

    def end(self) -> None:
        self.page.context.close()
        assert self.wrong == []


def picture(page: Page) -> str:
    """What the canvas shows, to compare; once the page is drawn."""
    expect(page.locator("#view-page")).not_to_have_class(re.compile("busy"))
    drawn: str = page.evaluate("document.getElementById('page-canvas').toDataURL()")
    return drawn
