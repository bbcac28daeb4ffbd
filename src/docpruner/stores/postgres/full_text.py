"""Pages by their words, by PostgreSQL's own full-text search.

Words are told apart as everywhere in docpruner (`word_forms.words_in`), so that they are the same
in all stores, and in any language; the server's own parser and dictionaries have no say. A word
counts the more, the fewer pages have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from docpruner.stores.postgres.document_choice import Choice
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.records import RankedPage
from docpruner.word_forms import words_in

LONGEST = 500  # signs of a word; PostgreSQL takes up to 2046 bytes
MOST_BYTES = 900_000  # of the words of a page; PostgreSQL takes 1 MB
MOST_PLACES = 255  # of a word that PostgreSQL counts
LAST_PLACE = 16_383  # that it can tell

INSERT = """INSERT INTO page_lexemes SELECT page, lexemes::tsvector
    FROM unnest(%s::bigint[], %s::text[]) AS given (page, lexemes)"""

RANKED = """
WITH asked AS MATERIALIZED (
    SELECT term::tsquery AS term, ln(1 + (SELECT count(*) FROM page_lexemes) / greatest(1, (
        SELECT count(*) FROM page_lexemes WHERE lexemes @@ term::tsquery))::float8) AS worth
    FROM unnest(%s::text[]) AS given (term)
)
SELECT d.name, p.number,
    (SELECT sum(worth * ts_rank(l.lexemes, term, 1)) FROM asked) AS score
FROM page_lexemes l JOIN pages p ON p.id = l.page JOIN documents d ON d.id = p.document
WHERE l.lexemes @@ %s::tsquery AND {where}
ORDER BY score DESC, d.name, p.number LIMIT %s"""
"""The last argument of ts_rank: longer pages count a little less."""


def lexemes_of(text: str) -> str:
    """A text as a tsvector is written: each word with its places."""
    places: dict[str, list[str]] = {}
    size = 0
    for place, word in enumerate(words_in(text), 1):
        own = places.setdefault(word[:LONGEST], [])
        if len(own) < MOST_PLACES:
            own.append(str(min(place, LAST_PLACE)))
            size += 2 if len(own) > 1 else 6 + len(word.encode())
        if size > MOST_BYTES:
            break
    return " ".join(f"{_quoted(word)}:{','.join(own)}" for word, own in places.items())


def insert_lexemes(connection: Connection, texts: Sequence[tuple[int, str]]) -> None:
    """Of pages, by their ids."""
    pages, lexemes = [page for page, _ in texts], [lexemes_of(text) for _, text in texts]
    connection.execute(INSERT, [pages, lexemes])


def ranked_by_text(connection: Connection, query: str, k: int, choice: Choice) -> list[RankedPage]:
    terms = [_quoted(word) for word in sorted({word[:LONGEST] for word in words_in(query)})]
    if not terms:
        return []
    found = connection.execute(
        RANKED.format(where=choice.where), [terms, " | ".join(terms), *choice.values, k]
    )
    return [RankedPage(name, number, float(score)) for name, number, score in found]


def _quoted(word: str) -> str:
    """Words are of letters and digits alone, so that nothing in them means anything."""
    return f"'{word}'"
