"""A hit as the API describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docpruner.explain import matched_words
from docpruner.hits import Hit
from docpruner.types import Word
from docpruner.web.names import document_id
from docpruner.web.schemas import HitResponse, MatchedWord, MatchResponse, json_values

SNIPPET, SNIPPET_MATCHES = 140, 5  # characters; words of the query
NEAR_ZERO = 0.1  # of the score of a word; what answers a question has more than five times that


def nothing_matches(hits: Sequence[Hit]) -> bool:
    """Whether no word of the query means anything to the best page: all are as the, of, and."""
    return bool(hits) and max(match.score for match in hits[0].matches) < NEAR_ZERO


def hit_response(rank: int, hit: Hit, name: str, words: Sequence[Word] | None) -> HitResponse:
    """`words` are those of the page; None leaves out what they would tell."""
    matched = [] if words is None else matched_words(hit, words)
    return HitResponse(
        rank=rank,
        document=document_id(hit.document),
        name=name,
        page=hit.page,
        score=round(hit.score, 4),
        metadata=json_values(hit.metadata),
        snippet="" if words is None else _snippet(hit, words),
        matched=[MatchedWord(query=word, page=text) for word, text in matched],
        matches=[
            MatchResponse(
                word=match.word,
                score=round(match.score, 4),
                boxes=[[round(edge, 4) for edge in box] for box in match.boxes],
            )
            for match in hit.matches
        ],
    )


def _snippet(hit: Hit, words: Sequence[Word]) -> str:
    """Around the best matches: the others count for little, and each is looked for in all words."""
    best = sorted(hit.matches, key=lambda match: -match.score)[:SNIPPET_MATCHES]
    told = replace(hit, stored_words=lambda: tuple(words), matches=tuple(best))
    return told.snippet(SNIPPET)
