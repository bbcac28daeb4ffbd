"""Pages by their words, by PostgreSQL's own full-text search.

Words are taken in lower case and otherwise as they stand (configuration `simple`), so that it works
for any language that has spaces between words. A word counts the more, the fewer pages have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from docpruner.stores.postgres.document_choice import Choice
from docpruner.stores.postgres.postgres_schema import Connection
from docpruner.stores.records import RankedPage

LONGEST = 200_000  # signs of a page that are searched; a tsvector has to stay below 1 MB

INSERT = """INSERT INTO page_lexemes SELECT page, to_tsvector('simple', text)
    FROM unnest(%s::bigint[], %s::text[]) AS given (page, text)"""

TERMS = """SELECT '''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || ''''
    FROM unnest(to_tsvector('simple', %s))"""

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


def searchable(text: str) -> str:
    """As words are compared. Case is folded here, as a server may know only that of ASCII."""
    plain = normalize("NFKC", text[:LONGEST]).casefold().replace("\0", " ")
    return plain.encode(errors="replace").decode()[:LONGEST]


def insert_lexemes(connection: Connection, texts: Sequence[tuple[int, str]]) -> None:
    """Of pages, by their ids."""
    pages, words = [page for page, _ in texts], [searchable(text) for _, text in texts]
    connection.execute(INSERT, [pages, words])


def ranked_by_text(connection: Connection, query: str, k: int, choice: Choice) -> list[RankedPage]:
    terms = [term for (term,) in connection.execute(TERMS, [searchable(query)])]
    if not terms:
        return []
    found = connection.execute(
        RANKED.format(where=choice.where), [terms, " | ".join(terms), *choice.values, k]
    )
    return [RankedPage(name, number, float(score)) for name, number, score in found]
