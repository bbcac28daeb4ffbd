"""`docpruner index --metadata-file`: metadata by document, from a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from docpruner.cli.output import counted, print_warning, shown_path
from docpruner.pipeline.metadata import metadata_of, read_csv
from docpruner.types import Metadata

LISTED = 3  # names in a warning


@dataclass(frozen=True)
class MetadataFile:
    path: Path
    rows: Mapping[str, Metadata]  # by the first column: a name, a path, or the end of one

    @classmethod
    def read(cls, path: Path) -> MetadataFile:
        return cls(path, read_csv(path))

    def with_all(self, metadata: Metadata | None) -> Callable[[str], Metadata | None]:
        """What is given for all documents, and for each what the file says; the file wins."""
        by_name = metadata_of(self.rows)
        return lambda name: {**(metadata or {}), **((by_name and by_name(name)) or {})} or None

    def warn_of_unknown(self, documents: Iterable[str]) -> None:
        """Rows that fit no document: most likely, somebody has mistyped their names."""
        ends = {end for name in documents for end in _ends(name)}
        unknown = [name for name in self.rows if name not in ends]
        if unknown:
            names = ", ".join(unknown[:LISTED]) + (" …" if len(unknown) > LISTED else "")
            print_warning(
                f"{shown_path(str(self.path))} names {counted(len(unknown), 'document')} that the "
                f"index doesn't have: {names}"
            )


def _ends(name: str) -> Iterable[str]:
    parts = name.split("/")
    return (name, *("/".join(parts[at:]) for at in range(1, len(parts))))
