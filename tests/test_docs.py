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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


def test_the_demo_of_the_readme_is_the_demo():
    """The transcript in the README is what `make demo` prints, number by number."""
    (transcript,) = [
        block for block in blocks(ROOT / "README.md", "console") if "make demo" in block
    ]
    printed = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "80", "PATH": ""},
    ).stdout
    shown = transcript.removeprefix("$ make demo\n")
    assert [line.split() for line in printed.splitlines()] == [
        line.split() for line in shown.splitlines()
    ]
