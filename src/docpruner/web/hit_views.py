"""A hit as the API describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docpruner.explain import matched_words
from docpruner.hits import Excerpt, Hit
from docpruner.types import Word
from docpruner.web.names import document_id
from docpruner.web.schemas import HitResponse, MatchedWord, MatchResponse, json_values

SNIPPET = 140  # characters
NEAR_ZERO = 0.1  # of the score of a word; what answers a question has more than five times that


def nothing_matches(hits: Sequence[Hit]) -> bool:
    """Whether no word of the query means anything to the best page: all are as the, of, and."""
    return bool(hits) and max(match.score for match in hits[0].matches) < NEAR_ZERO


def hit_response(rank: int, hit: Hit, name: str, words: Sequence[Word] | None) -> HitResponse:
    """`words` are those of the page; None leaves out what they would tell."""
    matched = [] if words is None else matched_words(hit, words)
    excerpt = (
        Excerpt("")
        if words is None
        else replace(hit, stored_words=lambda: tuple(words)).excerpt(SNIPPET)
    )
    return HitResponse(
        rank=rank,
        document=document_id(hit.document),
        name=name,
        page=hit.page,
        width=hit.size[0],
        height=hit.size[1],
        score=round(hit.score, 4),
        metadata=json_values(hit.metadata),
        snippet=excerpt.text,
        marks=[list(span) for span in excerpt.spans if hit.query],  # a picture asks for no words
        matched=[MatchedWord(query=word, page=text) for word, text in matched],
        matches=[
            MatchResponse(
                word=match.word,
                score=round(match.score, 4),
                weight=round(match.weight, 4),
                boxes=[[round(edge, 4) for edge in box] for box in match.boxes],
                found=list(match.found),
            )
            for match in hit.matches
        ],
    )
