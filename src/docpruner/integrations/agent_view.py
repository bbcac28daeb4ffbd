"""An index as an agent sees it: documents by short names, answers of bounded size.

Nothing here knows of a protocol; what can't be answered is `Refused` or one of our errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import PurePath

from docpruner.encoders.registry import EncoderName
from docpruner.explain import answers, matched_words, really_matches
from docpruner.facade import Index
from docpruner.hits import Hit
from docpruner.integrations.agent_pictures import PictureFolder, png_of
from docpruner.integrations.agent_results import (
    AgentDocument,
    AgentHit,
    DocumentsResult,
    IndexStats,
    PageTextResult,
    SearchResult,
)
from docpruner.outside_text import visible
from docpruner.search.filters import matching, read_pages
from docpruner.stores.records import DocumentEntry
from docpruner.types import Mode, is_named
from docpruner.web.drawings import Drawings
from docpruner.web.error_responses import Refused
from docpruner.web.index_view import Documents, IndexView
from docpruner.web.names import document_id
from docpruner.web.options import ServerOptions
from docpruner.web.page_views import page_drawing
from docpruner.web.schemas import json_values
from docpruner.web.stats_view import stats_response
from docpruner.word_forms import text_of

SNIPPET = 300  # characters
CAPTION = 600  # characters of a page's text that come with its picture
MOST_BOXES = 8  # of a hit
LONGEST_TEXT = 50_000  # characters
NAMED = 5  # documents that a refusal lists
NOTHING = "no page really matches the query; these come nearest"
EMPTY = "no pages found; the filters may be too strict, or the index empty"


@dataclass(frozen=True)
class PagePicture:
    png: bytes
    caption: str  # what it shows, in words, for a client that shows no pictures


class AgentView:
    """What the tools answer. Any thread may use it.

    tells_paths: whether who asks is on this computer, and may know where files are.
    """

    def __init__(self, index: Index, *, tells_paths: bool) -> None:
        self.index, self.view = index, IndexView(index)
        self.tells_paths = tells_paths
        self._drawings = Drawings(self.view.files)
        self.pictures = PictureFolder()

    def close(self) -> None:
        with ExitStack() as stack:
            for part in (self.view, self._drawings, self.pictures):
                stack.callback(part.close)

    # ------------------------------------------------------------------ documents

    def entry(self, name: str) -> DocumentEntry:
        """The document that a name means; it is looked for in the index, and nowhere else."""
        documents = self.view.documents()
        short = documents.short_names
        for meant in (
            [documents.by_id[name]] if name in documents.by_id else [],
            [each for each in documents.by_id.values() if name in (each.name, short[each.name])],
            [each for each in documents.by_id.values() if is_named(each.name, name)],
        ):
            if len(meant) == 1:
                return meant[0]
            if meant:
                raise Refused(404, f"{name} is several documents: {_listed(meant, documents)}")
        near = get_close_matches(PurePath(name).name, short.values(), NAMED, 0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else "; call documents to list them"
        raise Refused(404, f"the index has no document {name}{hint}")

    def documents(self, match: str | None, offset: int, limit: int) -> DocumentsResult:
        documents = self.view.documents()
        entries = {entry.name: entry for entry in documents.by_id.values()}
        names = list(entries) if match is None else matching(entries, [match])
        return DocumentsResult(
            total=len(names),
            documents=[
                AgentDocument(
                    document=documents.name_of(name),
                    pages=entries[name].pages,
                    metadata=json_values(entries[name].metadata),
                    file=self._file(name),
                )
                for name in names[offset : offset + limit]
            ],
        )

    def stats(self) -> IndexStats:
        told = stats_response(self.index, ServerOptions())
        return IndexStats(
            name=told.name,
            documents=told.documents,
            pages=told.pages,
            pages_with_text=self.index.stats().pages_with_text,
            pages_without_words=told.pages_without_words,
            encoder=told.settings.encoder,
            spec=told.settings.spec,
            codec=told.settings.codec,
            pruned=round(told.pruned, 4),
            bytes_on_disk=told.bytes_on_disk,
            bytes_unpruned_float16=told.bytes_unpruned_float16,
        )

    # ------------------------------------------------------------------ search

    def search(
        self,
        query: str,
        k: int,
        mode: Mode,
        document: str | None,
        pages: str | None,
        metadata: Mapping[str, str] | None,
    ) -> SearchResult:
        if not query.strip():
            raise Refused(422, "the query is empty; say what to look for")
        hits = self.index.search(
            query,
            k,
            mode=mode,
            documents=() if document is None else document,
            pages=read_pages(pages),
            metadata=metadata or None,
        )
        names = self.view.documents()
        return SearchResult(
            hits=[self._hit(hit, names) for hit in hits], note=self._note(hits, mode)
        )

    def _hit(self, hit: Hit, names: Documents) -> AgentHit:
        return AgentHit(
            document=names.name_of(hit.document),
            page=hit.page,
            score=round(hit.score, 4),
            snippet=visible(self._with_words(hit).snippet(SNIPPET)),
            boxes=_boxes(hit),
            metadata=json_values(hit.metadata),
            uri=_uri(hit.document, hit.page),
            file=self._file(hit.document),
        )

    def _with_words(self, hit: Hit) -> Hit:
        """A hit whose words come from a file that is as it was indexed, if they are not stored."""
        if hit.tells_words:
            return hit
        read = partial(self.view.words, document_id(hit.document), hit.page)
        return replace(hit, stored_words=lambda: tuple(read()))

    def _note(self, hits: Sequence[Hit], mode: Mode) -> str:
        if not hits:
            return EMPTY
        judged = mode == "vectors" and (
            EncoderName.read(self.index.settings.encoder).reads == "words"
        )
        return NOTHING if judged and not any(map(really_matches, hits)) else ""

    # ------------------------------------------------------------------ pages

    def text(self, document: str, number: int) -> PageTextResult:
        entry = self.entry(document)
        text = self._text(document_id(entry.name), number)
        left = len(text) - LONGEST_TEXT
        return PageTextResult(
            document=self.view.documents().name_of(entry.name),
            page=number,
            pages=entry.pages,
            text=text[:LONGEST_TEXT],
            note=f"{left:,} more characters are left out" if left > 0 else "",
            uri=_uri(entry.name, number),
            file=self._file(entry.name),
        )

    def picture(self, document: str, number: int, query: str | None, side: int) -> PagePicture:
        """A page, with what answers the query lit if there is one."""
        entry = self.entry(document)
        key = document_id(entry.name)
        _, stored = self.view.page(key, number)
        across, down = stored.size
        width = max(1, round(side * min(1.0, across / down))) if min(across, down) > 0 else side
        drawing = page_drawing(
            self.view, key, number, width, None if query is None else "match", query, None
        )
        tag = self._drawings.tag(drawing)
        png, size = png_of(self._drawings.picture(drawing, tag), side)
        name = self.view.documents().name_of(entry.name)
        lines = [f"{name}, page {number} of {entry.pages}, {size[0]} × {size[1]} pixels"]
        if self.tells_paths:
            saved = self.pictures.save(f"{PurePath(name).stem[:60]}-p{number}-{tag}.png", png)
            lines += [] if saved is None else [f"picture: {saved}"]
            lines.append(f"document: {self._file(entry.name)}")
        return PagePicture(png, "\n".join([*lines, *self._told(key, number, query)]))

    def _told(self, key: str, number: int, query: str | None) -> list[str]:
        """The page in words: what answers the query, or how it begins."""
        if query is None:
            text = self._text(key, number)
            more = " …" if len(text) > CAPTION else ""
            return [f"text: {text[:CAPTION]}{more}"] if text else ["text: none"]
        hit = self._with_words(self.view.hit_on(query, key, number))
        matched = ", ".join(f"{word} → {found}" for word, found in matched_words(hit))
        snippet = hit.snippet(CAPTION)
        return [visible(line) for line in (f"lit: {matched}", f"text: {snippet}")]

    def _text(self, key: str, number: int) -> str:
        """Without codes that some terminal would obey, and with no half of a character."""
        return visible(text_of(self.view.words(key, number)), lines=True)

    def _file(self, name: str) -> str | None:
        return self.index.file_of(name) if self.tells_paths else None


def _boxes(hit: Hit) -> list[list[float]]:
    """Of the words of the query that count, the best first."""
    boxes = [
        [round(edge, 3) for edge in box]
        for answer in answers(hit, ())
        if answer.counts
        for box in hit.matches[answer.number].boxes
    ]
    return [box for place, box in enumerate(boxes) if box not in boxes[:place]][:MOST_BOXES]


def _uri(document: str, page: int) -> str:
    return f"docpruner://page/{document_id(document)}/{page}"


def _listed(entries: Sequence[DocumentEntry], documents: Documents) -> str:
    names = [documents.name_of(entry.name) for entry in entries[:NAMED]]
    return ", ".join([*names, *(["…"] if len(entries) > NAMED else [])])
