"""What a run of indexing shows: a bar for people, a line of JSON for each event for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from docpruner.cli.budget_table import told_cost
from docpruner.cli.output import (
    console,
    counted,
    print_json_line,
    saving,
    shown_bytes,
    shown_path,
    styled,
)
from docpruner.errors import PageError

if TYPE_CHECKING:
    from rich.text import Text

    from docpruner.pipeline.add_report import AddReport, DocumentStatus
    from docpruner.pipeline.budget import Choice

STEPS = 10_000  # of the bar, whose length is the bytes of all files
STATUSES: tuple[DocumentStatus, ...] = ("added", "replaced", "completed", "moved", "unchanged")
LISTED = 20  # documents whose files are gone


@dataclass(frozen=True)
class Newer:
    """An encoder that is newer than that of the index, which has so many pages."""

    encoder: str
    pages: int


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
            print_json_line({"event": "problem", **_problem_values(problem)})
        self._problems = len(report.problems)
        print_json_line({"event": "progress", "share": round(report.share, 4), **_counts(report)})

    def interrupted(self) -> None:
        print_json_line({"event": "interrupted"})

    def done(
        self,
        report: AddReport,
        location: str,
        *,
        ocr: bool,  # noqa: ARG002
        newer: Newer | None,
    ) -> None:
        problems = [_problem_values(problem) for problem in report.problems]
        event = {"event": "done", "index": location, "outcome": report.outcome}
        encoder = {"newer_encoder": newer and newer.encoder}
        documents = {"missing": report.missing, "deleted": report.deleted}
        narrowed = {"narrowed": [asdict(choice) for choice in report.narrowed]}
        print_json_line(
            {**event, **encoder, **_counts(report), **documents, **narrowed, "problems": problems}
        )


class Bar:
    """A progress bar on standard error, problems as they come, and a summary at the end."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._console = console(stderr=True)
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
            saved=shown_bytes(max(0, report.bytes_unpruned_float16 - report.bytes)),
        )

    def interrupted(self) -> None:
        self._console.print("[yellow]stopped[/]; run the same command again to go on from here")

    def done(self, report: AddReport, location: str, *, ocr: bool, newer: Newer | None) -> None:
        if self._quiet:
            return
        for line in summary(report, location, ocr=ocr):
            console().print(line)
        if newer:
            console().print(_moving(newer, report), soft_wrap=True, markup=False, highlight=False)

    def _say(self, problem: PageError) -> None:
        where = shown_path(problem.path) + (f"#{problem.page}" if problem.page else "")
        self._console.print(
            styled(
                "[yellow]left out[/] [bold]{}[/]: {}; [dim]{}[/]",
                where,
                problem.reason,
                problem.remedy,
            ),
            soft_wrap=True,
        )


def summary(report: AddReport, location: str, *, ocr: bool) -> list[Text | str]:
    """What a run has done, in lines for people."""
    lines: list[Text | str] = []
    lines.append(styled(f"[bold]{{}}[/]: {_documents(report)}", shown_path(location)))
    if report.pages:
        lines.append(
            f"{counted(report.pages, 'page')} in {report.seconds:.1f} s, {report.vectors:,} of "
            f"{report.vectors_unpruned:,} vectors kept ([green]{report.kept:.1%}[/])"
        )
        lines.append(
            f"{shown_bytes(report.bytes)} of vectors instead of "
            f"{shown_bytes(report.bytes_unpruned_float16)} unpruned in float16: "
            f"{saving(report.bytes, report.bytes_unpruned_float16)}"
        )
    if report.narrowed:
        lines.append(_narrowed(report.narrowed[-1]))
    if report.copied:
        lines.append(f"{counted(report.copied, 'page')} copied from identical ones in the index")
    if report.without_words:
        lines.append(_without_words(report.without_words, ocr=ocr))
    if report.odd_thresholds:
        lines.append(
            f"[yellow]{counted(report.odd_thresholds, 'page')}[/] where the threshold kept every "
            "patch, or only one"
        )
    if report.metadata_changed:
        lines.append(f"metadata of {counted(report.metadata_changed, 'document')} changed")
    if report.problems:
        lines.append(f"[yellow]{counted(len(report.problems), 'problem')}[/], see above")
    return lines + _missing(report)


def _narrowed(choice: Choice) -> str:
    return (
        f"to keep to the budget, all pages of the index are now [yellow]{choice.name}[/] "
        f"({told_cost(choice.ndcg_kept)}): {shown_bytes(choice.bytes)} on disk"
    )


def _moving(newer: Newer, report: AddReport) -> str:
    """What it takes to move to a newer encoder; how long, if this run has encoded pages."""
    encoded, time = report.pages - report.copied, ""
    if encoded:
        time = f", {_about(newer.pages * report.seconds / encoded)} at this run's pace"
    return (
        f"{newer.encoder} finds more than the encoder of this index. Vectors can't be converted: "
        f"to move, encode its {counted(newer.pages, 'page')} again{time}, with docpruner index "
        "NEW.idx FILES"
    )


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"about {counted(max(1, round(seconds)), 'second')}"
    minutes = round(seconds / 60)
    return f"about {minutes} minutes" if minutes < 90 else f"about {seconds / 3600:.1f} hours"


def _documents(report: AddReport) -> str:
    counts = [(report.documents[status], status) for status in STATUSES if report.documents[status]]
    if not counts:
        return "no documents"
    (first, status), *others = counts
    return ", ".join(
        [f"{counted(first, 'document')} {status}", *(f"{n:,} {status}" for n, status in others)]
    )


def _without_words(pages: int, *, ocr: bool) -> str:
    subject, it = ("has", "it") if pages == 1 else ("have", "them")
    remedy = "OCR found none either" if ocr else "--ocr recognises the words of scans"
    return (
        f"[yellow]{counted(pages, 'page')} {subject} no words[/], so this encoder can't find {it}; "
        f"{remedy}"
    )


def _missing(report: AddReport) -> list[Text | str]:
    """Documents whose files are gone."""
    if not report.missing:
        return []
    word = "removed" if report.deleted else "gone"
    lines: list[Text | str] = [
        styled(f"[yellow]{word}[/] [bold]{{}}[/]", shown_path(name))
        for name in report.missing[:LISTED]
    ]
    if len(report.missing) > LISTED:
        lines.append(f"… and {len(report.missing) - LISTED:,} more")
    files = "file no longer exists" if len(report.missing) == 1 else "files no longer exist"
    documents = counted(len(report.missing), "document")
    if report.deleted:
        return [*lines, f"{documents} removed, because the {files}"]
    return [*lines, f"{documents} in the index whose {files}; --delete-missing removes them"]


def _counts(report: AddReport) -> dict[str, Any]:
    return {
        "documents": dict(report.documents),
        "pages": report.pages,
        "copied": report.copied,
        "without_words": report.without_words,
        "odd_thresholds": report.odd_thresholds,
        "metadata_changed": report.metadata_changed,
        "vectors": report.vectors,
        "vectors_unpruned": report.vectors_unpruned,
        "bytes": report.bytes,
        "bytes_unpruned_float16": report.bytes_unpruned_float16,
        "seconds": round(report.seconds, 3),
    }


def _problem_values(problem: PageError) -> dict[str, Any]:
    return {
        "path": problem.path,
        "page": problem.page,
        "reason": problem.reason,
        "remedy": problem.remedy,
    }
