"""What the README and the docs say is run: Python snippets of a page, one after another."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


WITH_SNIPPETS = [page for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.name)
def test_snippets_run(page, tmp_path):
    program = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_demo_of_the_readme_is_the_demo(tmp_path):
    """The transcript in the README is what `make demo` prints. Scores may differ a little with the
    arithmetic of the CPU, and the size on disk with the commits, which are made by time."""
    (transcript,) = [
        block for block in blocks(ROOT / "README.md", "console") if "make demo" in block
    ]
    printed = subprocess.run(
        [sys.executable, "-m", "docpruner", "demo", "demo"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"COLUMNS": "80", "PATH": ""},
    ).stdout
    shown = transcript.removeprefix("$ make demo\n").split()
    assert [without_number(word) for word in printed.split()] == list(map(without_number, shown))
    units = [*shown[1:], ""]
    for said, true, unit in zip(shown, printed.split(), units, strict=True):
        assert number(said) == pytest.approx(
            number(true), rel=0.1 if unit.startswith(("kB", "saved")) else 0.02
        )
    assert (tmp_path / "demo" / "kept.png").stat().st_size > 10_000


NUMBER = re.compile(r"\d[\d,.]*")


def without_number(word: str) -> str:
    return NUMBER.sub("0", word)


def number(word: str) -> float:
    found = NUMBER.search(word)
    return float(found[0].strip(".,").replace(",", "")) if found else 0.0
