"""`docpruner doctor`."""

from __future__ import annotations

from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from docpruner.cli.output import JsonOption, console, print_json
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
    for finding in findings:
        colour = "yellow" if finding.remedy else "green"
        note = finding.why + (f"\n→ {finding.remedy}" if finding.remedy else "")
        table.add_row(
            finding.what, f"[bold {colour}]{escape(finding.found)}[/]", f"[dim]{escape(note)}[/]"
        )
    console().print(table)
