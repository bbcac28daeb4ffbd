"""`docpruner doctor`."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from docpruner.cli.output import JsonOption, plain, print_json
from docpruner.cli.tables import print_table
from docpruner.doctor import examine


def show(json: JsonOption = False) -> None:
    """Show what this installation can do, and what it lacks.

    Example: `docpruner doctor --json`
    """
    findings = examine()
    if json:
        print_json([asdict(finding) for finding in findings])
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for finding in findings:
        colour = "yellow" if finding.remedy else "green"
        note = finding.why + (f"\n→ {finding.remedy}" if finding.remedy else "")
        table.add_row(finding.what, plain(finding.found, f"bold {colour}"), Text(note, "dim"))
    print_table(table)
