from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF

from pages.made import LINE, scan


@pytest.fixture
def report(tmp_path) -> Path:
    """A page with a text layer, then a scan without one."""
    document = FPDF(unit="pt", format=(400, 200))
    document.set_font("helvetica", size=12)
    document.add_page()
    document.text(40, 100, LINE)
    document.add_page()
    document.image(scan(), x=0, y=0, w=400, h=200)
    document.output(str(tmp_path / "report.pdf"))
    return tmp_path / "report.pdf"
