"""Hits as commands show them: with the words that match, read from all files in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.text import Text

from docpruner.cli.output import plain, shortened, styled
from docpruner.cli.tables import headed_table, print_table
from docpruner.encoders.registry import EncoderName
from docpruner.explain import matched_words, really_matches
from docpruner.facade import Index
from docpruner.hits import Hit
from docpruner.pages.page_files import PageFiles
from docpruner.types import Word, is_named

MOST_MATCHED = 12  # words of a query in a table


@dataclass(frozen=True)
class HitView:
    hit: Hit
    name: str  # of the document: as much of its path as tells it from all others of the index
    words: tuple[Word, ...]  # of the page; none if it has none, or if its file can't be read
    file_is_gone: bool
    really_matches: bool  # also if the encoder is one of which that can't be told

    @property
    def matched(self) -> list[tuple[str, str]]:
        """Words of the query that count, each with what answers it."""
        return matched_words(self.hit, self.words)

    @property
    def snippet(self) -> str:
        return replace(self.hit, stored_words=lambda: self.words).snippet()

    def to_dict(self, rank: int) -> dict[str, Any]:
        return {
            "rank": rank,
            **self.hit.to_dict(),
            "matched": [{"query": word, "page": text} for word, text in self.matched],
            "really_matches": self.really_matches,
            "snippet": self.snippet,
            "file_is_gone": self.file_is_gone,
        }


def views_of(index: Index, hits: Sequence[Hit]) -> list[HitView]:
    """The index's own child process reads the words of all hits at once."""
    files = next((hit.files for hit in hits if isinstance(hit.files, PageFiles)), None)
    unknown = [(hit.document, hit.page) for hit in hits if not hit.tells_words]
    words = files.words_of(unknown) if files is not None and unknown else {}
    with index.reader() as reader:
        names = told_apart({hit.document for hit in hits}, reader.names())
    judged = EncoderName.read(index.settings.encoder).reads == "words"
    return [
        HitView(
            hit=hit,
            name=names[hit.document],
            words=hit.words() if hit.tells_words else words.get((hit.document, hit.page), ()),
            file_is_gone=index.file_is_gone(hit.document),
            really_matches=not judged or really_matches(hit),
        )
        for hit in hits
    ]


def told_apart(documents: Iterable[str], among: Iterable[str]) -> dict[str, str]:
    """For each document the shortest end of its path that no other one has."""
    namesakes: dict[str, list[str]] = {}
    for name in among:
        namesakes.setdefault(name.rpartition("/")[2], []).append(name)
    short = {}
    for document in documents:
        parts = document.split("/")
        others = [name for name in namesakes.get(parts[-1], []) if name != document]
        ends = ("/".join(parts[at:]) for at in range(len(parts) - 1, 0, -1))
        unique = (end for end in ends if not any(is_named(other, end) for other in others))
        short[document] = next(unique, document)
    return short


def show_hits(views: Sequence[HitView]) -> None:
    table = headed_table()
    table.add_column("", style="dim", justify="right")
    table.add_column("document", style="bold", no_wrap=True)
    table.add_column("page", justify="right")
    table.add_column("score", justify="right", style="green")
    table.add_column("matched")
    for rank, view in enumerate(views, 1):
        hit = view.hit
        score = f"{hit.score:.2f}"
        table.add_row(str(rank), plain(view.name), str(hit.page), score, _matched(view))
    print_table(table)


def _matched(view: HitView) -> Text:
    parts = [Text("(file is gone)", "yellow")] if view.file_is_gone else []
    if view.really_matches:
        matched = view.matched
        parts += [_pair(shortened(word), text) for word, text in matched[:MOST_MATCHED]]
        parts += [Text("…")] if len(matched) > MOST_MATCHED else []
    else:
        parts.append(Text("nothing really", "dim"))
    return Text("  ").join(parts)


def _pair(word: str, text: str) -> Text:
    same = word.casefold() == text.casefold()
    return plain(word) if same else styled("{}[dim]→[/]{}", word, shortened(text))
