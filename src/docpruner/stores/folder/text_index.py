"""Full-text search over the stored words, by SQLite's FTS5.

The table `words` is derived from `texts`, which it keeps no copy of. Triggers note in `unlisted`
which texts have come and gone, by whatever way, and a writer brings `words` up to date before it
commits. So the two are in step after every commit, and stay so where a Python without FTS5 writes:
what it has noted is seen to by the next writer that has it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

from docpruner.errors import DamagedIndexError, TextSearchError
from docpruner.stores.page_text import PageText
from docpruner.word_forms import words_in

TEXTS = """
CREATE TABLE texts (
    page INTEGER PRIMARY KEY REFERENCES pages ON DELETE CASCADE,
    packed BLOB NOT NULL
);
CREATE VIEW plain_texts AS SELECT page, plain_text(packed) AS text FROM texts;
CREATE TABLE unlisted (  -- what the full-text index has yet to take in or out
    page INTEGER PRIMARY KEY,
    gone BLOB  -- the text of a page that is no more
);
CREATE TRIGGER text_added AFTER INSERT ON texts BEGIN
    INSERT INTO unlisted VALUES (new.page, NULL);
END;
CREATE TRIGGER text_removed BEFORE DELETE ON texts BEGIN
    INSERT INTO unlisted SELECT old.page, old.packed
        WHERE NOT EXISTS (SELECT 1 FROM unlisted WHERE page = old.page);
    DELETE FROM unlisted WHERE page = old.page AND gone IS NULL;
END;
"""

WORDS = """CREATE VIRTUAL TABLE words USING fts5(
    text, content='plain_texts', content_rowid='page', tokenize='ascii')"""
"""What it is given are words already (`words_in`), and all that is not ASCII is part of one."""

DERIVED = "name <> 'words' AND name NOT GLOB 'words_*'"
"""Of the entries in `sqlite_master`, those that are not the full-text index's."""

FEW_BLOCKS = 250  # of 4 kB: up to there it is made as small as it can be with every commit, so that
# what a budget counts is what stays; a larger one merges its parts by and by
DAMAGED = 267  # SQLITE_CORRUPT_VTAB: what FTS5 says of its own tables


def prepare(connection: sqlite3.Connection) -> None:
    """Teach a writer's connection to read texts."""
    connection.create_function("plain_text", 1, _plain_text, deterministic=True)


def _plain_text(packed: bytes) -> str | None:
    """None if it is damaged."""
    try:
        return " ".join(words_in(PageText(packed).plain))
    except (DamagedIndexError, TypeError):
        return None


def has_fts5(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone()
    return found is not None


def is_there(connection: sqlite3.Connection) -> bool:
    return _any(connection, "SELECT 1 FROM sqlite_master WHERE name = 'words'")


def keep_up(connection: sqlite3.Connection) -> None:
    """Take in what has come and take out what has gone, in the transaction of a writer."""
    if not _any(connection, "SELECT 1 FROM unlisted LIMIT 1") or not has_fts5(connection):
        return
    unreadable = "SELECT 1 FROM unlisted WHERE gone NOT NULL AND plain_text(gone) IS NULL LIMIT 1"
    if not is_there(connection) or _any(connection, unreadable):
        rebuild(connection)
        return
    run = connection.execute
    try:
        run(
            "INSERT INTO words (words, rowid, text) SELECT 'delete', page, plain_text(gone) "
            "FROM unlisted WHERE gone NOT NULL"
        )
        run(
            "INSERT INTO words (rowid, text) SELECT t.page, t.text FROM unlisted u "
            "JOIN plain_texts t ON t.page = u.page WHERE u.gone IS NULL"
        )
        run("DELETE FROM unlisted")
        if not _any(connection, f"SELECT 1 FROM words_data LIMIT 1 OFFSET {FEW_BLOCKS}"):
            run("INSERT INTO words (words) VALUES ('optimize')")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != DAMAGED:
            raise
        rebuild(connection)


def rebuild(connection: sqlite3.Connection) -> None:
    """Make it anew from the texts, in the transaction of a writer."""
    if not has_fts5(connection):
        return
    if is_there(connection):
        connection.execute("DROP TABLE words")
    connection.execute("DELETE FROM unlisted")
    if _any(connection, "SELECT 1 FROM texts LIMIT 1"):
        connection.execute(WORDS)
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")


def tidy_up(connection: sqlite3.Connection) -> None:
    """Make it as small as it can be; anew if it is missing or damaged."""
    if not has_fts5(connection):
        return
    if is_there(connection) and is_sound(connection):
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    else:
        rebuild(connection)


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether it has exactly the words of the texts; asks for the right to write."""
    try:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != DAMAGED:
            raise
        return False
    return True


def differs(connection: sqlite3.Connection) -> bool:
    """Whether it has other words than one made from the texts just now.

    Compared are the places of every word, summed up for each, and the lengths of all texts. Only
    reads, and leaves temporary tables to a connection that is about to be closed.
    """
    run = connection.execute
    prepare(connection)
    try:
        run(WORDS.replace("words", "temp.fresh").replace("'plain_texts'", "''"))
        run("INSERT INTO temp.fresh (rowid, text) SELECT page, text FROM plain_texts")
        with (
            closing(_summed_up(connection, "main", "words")) as kept,
            closing(_summed_up(connection, "temp", "fresh")) as made,
        ):
            return any(one != other for one, other in zip_longest(kept, made))
    except MemoryError:  # a length that was written over
        return True
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != DAMAGED:
            raise
        return True


def _summed_up(
    connection: sqlite3.Connection, schema: str, table: str
) -> Generator[object, None, None]:
    run = connection.execute
    run(f"CREATE VIRTUAL TABLE temp.{table}_places USING fts5vocab({schema}, {table}, instance)")
    yield from run(
        "SELECT term, count(*), sum((doc * 31 + offset) * (offset + 1) % 1000003) "
        f"FROM temp.{table}_places GROUP BY term"
    )
    yield from run(f"SELECT id, sz FROM {schema}.{table}_docsize ORDER BY id")
    averages = f"SELECT block FROM {schema}.{table}_data WHERE id = 1"
    yield from run(f"{averages} AND EXISTS (SELECT 1 FROM texts)")


def match_of(query: str) -> str:
    """Pages that have any of the words of a query, in the language of FTS5; empty without words."""
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(words_in(query)))


def ranked(
    connection: sqlite3.Connection,
    folder: Path,
    query: str,
    where: str,
    values: Iterable[object],
    limit: int,
) -> list[tuple[str, int, float]]:
    """Path, number and score of the pages that fit, the best first; all if the limit is -1.

    `where` is about a page `p` and its document `d`.
    """
    match = match_of(query)
    if not match or not _can_search(connection, folder):
        return []
    try:
        return connection.execute(
            "SELECT d.path, p.number, -bm25(words) AS score FROM words "
            "JOIN pages p ON p.id = words.rowid JOIN documents d ON d.id = p.document "
            f"WHERE words MATCH ? AND NOT d.incoming {where} "
            "ORDER BY score DESC, d.path, p.number LIMIT ?",
            (match, *values, limit),
        ).fetchall()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != DAMAGED:
            raise
        raise DamagedIndexError(
            f"the full-text index of {folder} is damaged; make it anew with: "
            f"docpruner compact {folder}"
        ) from error


def _can_search(connection: sqlite3.Connection, folder: Path) -> bool:
    if not _any(connection, "SELECT 1 FROM texts LIMIT 1"):
        return False
    if not has_fts5(connection):
        raise TextSearchError(
            f"{folder} can't be searched by text: the SQLite of this Python "
            f"({sqlite3.sqlite_version}) was built without FTS5. Use another Python, or search by "
            "vectors"
        )
    if not is_there(connection) or _any(connection, "SELECT 1 FROM unlisted LIMIT 1"):
        raise TextSearchError(
            f"{folder} was written by a Python whose SQLite has no full-text search (FTS5), and "
            f"can't be searched by text until you run, with one that has it: "
            f"docpruner compact {folder}"
        )
    return True


def _any(connection: sqlite3.Connection, query: str) -> bool:
    return connection.execute(query).fetchone() is not None
