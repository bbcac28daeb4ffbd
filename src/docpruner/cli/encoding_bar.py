"""What encoding a data set shows: a bar on standard error, and problems as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from docpruner.cli.output import shown_path

if TYPE_CHECKING:
    from docpruner.errors import PageError
    from docpruner.pipeline.add_report import AddReport

STEPS = 10_000  # of the bar, whose length is the bytes of all documents


class EncodingBar:
    """Nothing is pruned here, so it has nothing to tell of what is kept and saved."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._problems = 0
        self._progress = Progress(
            TextColumn("encoding [cyan]{task.fields[pages]:,}[/] pages"),
            BarColumn(),
            TextColumn("{task.fields[pace]:.1f} pages/s ·"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=STEPS, pages=0, pace=0.0)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, report: AddReport) -> None:
        if len(report.problems) < self._problems:  # the report of another run
            self._problems = 0
        for problem in report.problems[self._problems :]:
            self._left_out(problem)
        self._problems = len(report.problems)
        self._progress.update(
            self._task,
            completed=report.share * STEPS,
            pages=report.pages,
            pace=report.pages_per_second,
        )

    def _left_out(self, problem: PageError) -> None:
        where = shown_path(problem.path) + (f"#{problem.page}" if problem.page else "")
        self._console.print(
            f"[yellow]left out[/] [bold]{escape(where)}[/]: {escape(problem.reason)}; "
            f"[dim]{escape(problem.remedy)}[/]",
            soft_wrap=True,
        )
