"""What an agent may change: documents whose files lie below folders that the user named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from docpruner.errors import DocPrunerError, PageError
from docpruner.integrations.agent_results import AddResult, DeleteResult
from docpruner.integrations.agent_view import AgentView
from docpruner.pages.files import find_files
from docpruner.pipeline.add_report import ProgressCallback
from docpruner.web.error_responses import Refused
from docpruner.web.index_view import WRITER_SECONDS

MOST_PROBLEMS = 50


class AgentChanges:
    """Adds and removes, below the folders only: what links lead to is what counts."""

    def __init__(self, view: AgentView, folders: Sequence[Path]) -> None:
        self._view = view
        self.folders = [_existing(folder) for folder in folders]

    def add(
        self,
        paths: Sequence[str],
        ocr: bool | None,
        metadata: dict[str, str] | None,
        progress: ProgressCallback,
    ) -> AddResult:
        inside, outside = self._files(paths)
        if not inside:
            raise Refused(403, outside[0] if outside else "nothing to add there")
        report = self._view.index.add(inside, ocr=ocr, metadata=metadata, progress=progress)
        problems = [*outside, *map(str, report.problems)]
        left = len(problems) - MOST_PROBLEMS
        return AddResult(
            documents={str(status): count for status, count in report.documents.items()},
            pages=report.pages,
            problems=[*problems[:MOST_PROBLEMS], *([f"and {left:,} more"] if left > 0 else [])],
        )

    def delete(self, documents: Sequence[str]) -> DeleteResult:
        """All of them, or none."""
        entries = [self._view.entry(name) for name in documents]
        shown = self._view.view.documents()
        for entry in entries:
            path = self._view.index.file_of(entry.name)
            if not (os.path.isabs(path) and self._is_inside(path)):
                raise Refused(403, f"{shown.name_of(entry.name)} {self._not_below}")
        names = [entry.name for entry in entries]
        gone = self._view.index.delete(names, wait=WRITER_SECONDS)
        return DeleteResult(deleted=[shown.name_of(name) for name in gone])

    def _files(self, paths: Sequence[str]) -> tuple[list[Path], list[str]]:
        """The files that may be added, and what is wrong with the others.

        Files are listed here: the index would follow a link in a folder to anywhere.
        """
        given = [self._placed(path) for path in paths]
        inside: list[Path] = []
        problems: list[str] = []
        for found in find_files(given):
            if isinstance(found, PageError):
                problems.append(str(found))
            elif self._is_inside(found):
                inside.append(found)
            else:
                problems.append(f"{found.name} leads outside; it {self._not_below}")
        return inside, problems

    def _placed(self, path: str) -> Path:
        """A path below one of the folders. Of any other nothing is told, not even if it exists."""
        for folder in self.folders:
            whole = folder / path  # the path alone, if it is absolute
            if self._is_inside(whole) and os.path.lexists(whole):
                return whole
        if any(self._is_inside(folder / path) for folder in self.folders):
            raise Refused(404, f"{path} does not exist")
        raise Refused(403, f"{path} {self._not_below}")

    def _is_inside(self, path: str | Path) -> bool:
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError):
            return False
        return any(real.is_relative_to(folder) for folder in self.folders)

    @property
    def _not_below(self) -> str:
        return f"is not below {' or '.join(map(str, self.folders))}, where changes are allowed"


def _existing(folder: Path) -> Path:
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise DocPrunerError(f"{folder} is not a folder; give one that is there with --folder")
    return real
