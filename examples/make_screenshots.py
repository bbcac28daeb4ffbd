"""Writes docs/web-search.png, docs/web-page.png and docs/web-explorer.png: what `docpruner serve`
shows of the sample documents.

    python examples/make_screenshots.py [FOLDER]

Needs playwright, and Chromium on the path (Debian: apt-get install chromium).
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import docpruner
from docpruner import Index

SAMPLES = Path(docpruner.__file__).parent / "samples"
DOCS = Path(__file__).parent.parent / "docs"
LARGEST = 290_000  # bytes of a picture with all its colours
SIZE, SCALE = {"width": 1280, "height": 800}, 1.5
EXPLORED = "annual-report.pdf", 5
WIDE = "In which part of southern Europe did sales go down?"
NARROW = "What does it cost to lease the cargo bike?"


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    with tempfile.TemporaryDirectory() as made:
        index = Path(made) / "samples.idx"
        with Index.create(index) as new:
            new.add(SAMPLES, ocr=False)
        with served(index) as address, sync_playwright() as playwright:
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE)
            take(page, address, folder)
            browser.close()


@contextmanager
def served(index: Path) -> Iterator[str]:
    """`docpruner serve`, which says its address first."""
    command = [sys.executable, "-m", "docpruner", "serve", str(index), "--port", "0", "--no-token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split(" at ")[-1].split(" (")[0]
        finally:
            server.terminate()


def take(page: Page, address: str, folder: Path) -> None:
    page.goto(address)
    ask(page, WIDE)
    save(page, folder / "web-search.png")
    ask(page, NARROW)
    page.click("#hits a >> nth=0")
    page.wait_for_selector("#words button")
    save(page, folder / "web-page.png")
    name, number = EXPLORED
    page.goto(f"{address}#/index")
    link = page.get_by_role("link", name=name).get_attribute("href")
    document = link.split("/")[2] if link else ""
    page.goto(f"{address}#/page/{document}/{number}?show=explore&spec=docpruner:k=0.25")
    page.wait_for_selector("#whatif-vectors")
    save(page, folder / "web-explorer.png")


def ask(page: Page, question: str) -> None:
    page.fill("#q", question)
    with page.expect_response("**/api/search*"):
        page.keyboard.press("Enter")
    page.wait_for_selector("#hits .loaded")


def save(page: Page, path: Path) -> None:
    page.wait_for_load_state("networkidle")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        picture.quantize(256, Image.Quantize.MEDIANCUT, kmeans=256).save(path, optimize=True)
    print(f"{path} {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
