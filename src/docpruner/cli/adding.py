"""What a run of indexing shows: a bar for people, a line of JSON for each event for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from docpruner.cli.output import print_json_line, shown_bytes, shown_path
from docpruner.errors import PageError

if TYPE_CHECKING:
    from docpruner.pipeline.report import AddReport

STEPS = 10_000  # of the bar, whose length is the bytes of all files


class JsonLines:
    """One JSON object for each event: problem, progress, interrupted, done."""

    def __init__(self) -> None:
        self._problems = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass

    def watch(self, report: AddReport) -> None:
        for problem in report.problems[self._problems :]:
            print_json_line({"event": "problem", **_described(problem)})
        self._problems = len(report.problems)
        print_json_line({"event": "progress", "share": round(report.share, 4), **_counts(report)})

    def interrupted(self) -> None:
        print_json_line({"event": "interrupted"})

    def done(self, report: AddReport, folder: Path) -> None:
        problems = [_described(problem) for problem in report.problems]
        event = {"event": "done", "index": str(folder), "outcome": report.outcome}
        print_json_line({**event, **_counts(report), "problems": problems})


class Bar:
    """A progress bar on standard error, problems as they come, and a summary at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True, highlight=False)
        self._problems = 0
        self._progress = Progress(
            TextColumn("[cyan]{task.fields[pages]:,}[/] pages"),
            BarColumn(),
            TextColumn("{task.fields[pace]:.1f} pages/s · kept {task.fields[kept]:.0%} ·"),
            TextColumn("saved {task.fields[saved]} ·"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=self._console,
            transient=True,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._progress.add_task(
            "", total=STEPS, pages=0, pace=0.0, kept=1.0, saved="0 B"
        )

    def __enter__(self) -> None:
        self._progress.start()

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def watch(self, report: AddReport) -> None:
        for problem in report.problems[self._problems :]:
            self._say(problem)
        self._problems = len(report.problems)
        self._progress.update(
            self._task,
            completed=report.share * STEPS,
            pages=report.pages,
            pace=report.pages_per_second,
            kept=report.kept,
            saved=shown_bytes(report.bytes_unpruned_float16 - report.bytes),
        )

    def interrupted(self) -> None:
        self._console.print("[yellow]stopped[/]; run the same command again to go on from here")

    def done(self, report: AddReport, folder: Path) -> None:
        if self._quiet:
            return
        console = Console(highlight=False)
        for line in _summary(report, folder):
            console.print(line)

    def _say(self, problem: PageError) -> None:
        where = shown_path(problem.path) + (f"#{problem.page}" if problem.page else "")
        self._console.print(
            f"[yellow]left out[/] [bold]{escape(where)}[/]: {escape(problem.reason)}; "
            f"[dim]{escape(problem.remedy)}[/]",
            soft_wrap=True,
        )


def _summary(report: AddReport, folder: Path) -> list[str]:
    fates = [f"{count:,} {fate}" for fate, count in report.documents.items() if count]
    lines = [f"[bold]{escape(shown_path(str(folder)))}[/]: documents {', '.join(fates) or 'none'}"]
    if report.pages:
        saved = 1 - report.bytes / report.bytes_unpruned_float16
        lines.append(
            f"{report.pages:,} pages in {report.seconds:.1f} s, {report.vectors:,} of "
            f"{report.vectors_unpruned:,} vectors kept ([green]{report.kept:.1%}[/])"
        )
        lines.append(
            f"{shown_bytes(report.bytes)} of vectors instead of "
            f"{shown_bytes(report.bytes_unpruned_float16)} unpruned in float16: "
            f"[green]{saved:.1%} saved[/]"
        )
    if report.copied:
        lines.append(f"copied: {report.copied:,} of the pages, which look like others in the index")
    if report.without_words:
        lines.append(
            f"[yellow]without words: {report.without_words:,} of the pages[/], which this encoder "
            "can't find; --ocr recognises the words of scans"
        )
    if report.odd_thresholds:
        lines.append(
            f"[yellow]odd: {report.odd_thresholds:,} of the pages[/], where the threshold kept all "
            "patches or only one"
        )
    if report.problems:
        lines.append(f"[yellow]left out: {len(report.problems):,}[/], see above")
    return lines


def _counts(report: AddReport) -> dict[str, Any]:
    return {
        "documents": dict(report.documents),
        "pages": report.pages,
        "copied": report.copied,
        "without_words": report.without_words,
        "odd_thresholds": report.odd_thresholds,
        "vectors": report.vectors,
        "vectors_unpruned": report.vectors_unpruned,
        "bytes": report.bytes,
        "bytes_unpruned_float16": report.bytes_unpruned_float16,
        "seconds": round(report.seconds, 3),
    }


def _described(problem: PageError) -> dict[str, Any]:
    return {
        "path": problem.path,
        "page": problem.page,
        "reason": problem.reason,
        "remedy": problem.remedy,
    }
