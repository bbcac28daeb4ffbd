"""The command in a process of its own, as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fpdf import FPDF


def docpruner(
    *arguments: str, at: Path | None = None, env: Mapping[str, str] | None = None, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "docpruner", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=at,
        env={**os.environ, **(env or {})},
        input=typed,
    )


def write_pdf(path: Path, *pages: str) -> Path:
    """A PDF with a line of text on each page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = FPDF()
    document.set_font("helvetica", size=14)
    for text in pages:
        document.add_page()
        document.text(20, 40, text)
    document.output(str(path))
    return path
