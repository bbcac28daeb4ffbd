"""Hits as commands show them: with the words that match, read from all files in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from docpruner.cli.documents import file_is_gone
from docpruner.cli.output import plain, shown_path, styled
from docpruner.cli.tables import headed_table, print_table
from docpruner.explain import matched_words
from docpruner.hits import Hit
from docpruner.pages.page_files import PageFiles
from docpruner.types import Word


@dataclass(frozen=True)
class HitView:
    hit: Hit
    words: tuple[Word, ...]  # of the page; none if it has none, or if its file can't be read
    file_is_gone: bool

    @property
    def matched(self) -> list[tuple[str, str]]:
        """Words of the query that count, each with what answers it."""
        return matched_words(self.hit, self.words)

    @property
    def snippet(self) -> str:
        return replace(self.hit, recognised=self.words).snippet() if self.words else ""

    def to_dict(self, rank: int) -> dict[str, Any]:
        return {
            "rank": rank,
            **self.hit.to_dict(),
            "matched": [{"query": word, "page": text} for word, text in self.matched],
            "snippet": self.snippet,
            "file_is_gone": self.file_is_gone,
        }


def views_of(hits: Sequence[Hit]) -> list[HitView]:
    """Call it while the index is open: the hits' own child process reads all their words."""
    files = next((hit.files for hit in hits if isinstance(hit.files, PageFiles)), None)
    unknown = [(hit.document, hit.page) for hit in hits if not hit.tells_words]
    words = files.words_of(unknown) if files is not None and unknown else {}
    return [
        HitView(
            hit,
            hit.recognised or words.get((hit.document, hit.page), ()),
            file_is_gone(hit.document),
        )
        for hit in hits
    ]


def show_hits(views: Sequence[HitView]) -> None:
    table = headed_table()
    table.add_column("", style="dim", justify="right")
    table.add_column("document", style="bold", no_wrap=True)
    table.add_column("page", justify="right")
    table.add_column("score", justify="right", style="green")
    table.add_column("matched")
    paths = {view.hit.document for view in views}
    alone = len({Path(path).name for path in paths}) == len(paths)  # names say which is meant
    for rank, view in enumerate(views, 1):
        hit = view.hit
        matched = [_pair(word, text) for word, text in view.matched]
        if view.file_is_gone:
            matched.insert(0, Text("(file is gone)", "yellow"))
        name = Path(hit.document).name if alone else shown_path(hit.document)
        score = f"{hit.score:.2f}"
        table.add_row(str(rank), plain(name), str(hit.page), score, Text("  ").join(matched))
    print_table(table)


def _pair(word: str, text: str) -> Text:
    same = word.casefold() == text.casefold()
    return plain(word) if same else styled("{}[dim]→[/]{}", word, text)
