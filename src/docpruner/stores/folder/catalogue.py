"""The SQLite file of an index: its tables, how it is opened, what its errors mean."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from docpruner.errors import DamagedIndexError, IndexStateError, IndexWriteError
from docpruner.stores.folder.page_row import document_checksum
from docpruner.stores.folder.segments import sync_folder
from docpruner.stores.folder.text_index import DERIVED, TEXTS, prepare
from docpruner.stores.settings import Settings
from docpruner.types import Metadata

FORMAT = (
    3  # 1: without what INCREMENTAL has, 2: without TEXTS and MOVED; its first writer adds that
)
NAME = "catalogue.sqlite"
LOCK = "writer.lock"
BUSY_SECONDS = 30.0

TABLES = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE segments (  -- no id is used twice: somebody may still hold what had it before
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rows INTEGER NOT NULL
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    incoming INTEGER NOT NULL,  -- 1: will replace the other of this path when all pages are in
    sha256 BLOB NOT NULL,
    mtime_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    pages INTEGER NOT NULL,     -- that the file has; fewer in the table below are missing
    metadata TEXT NOT NULL,
    checksum INTEGER NOT NULL,  -- of path, sha256, bytes, pages and metadata
    UNIQUE (path, incoming)
);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    number INTEGER NOT NULL,
    width REAL NOT NULL,
    height REAL NOT NULL,
    content BLOB NOT NULL,
    words_from TEXT NOT NULL,
    segment INTEGER NOT NULL REFERENCES segments,
    start INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    special INTEGER NOT NULL,   -- of the vectors
    patches INTEGER NOT NULL,   -- before reduction
    checksum INTEGER NOT NULL,
    UNIQUE (document, number)
);
CREATE INDEX pages_by_content ON pages (content);
CREATE TABLE maps (
    page INTEGER PRIMARY KEY REFERENCES pages ON DELETE CASCADE,
    map BLOB NOT NULL
);
"""

BASENAME = "replace(path, rtrim(path, replace(path, '/', '')), '')"

INCREMENTAL = f"""
CREATE INDEX pages_by_place ON pages (segment, start);
CREATE INDEX documents_by_basename ON documents ({BASENAME});
CREATE INDEX documents_by_content ON documents (sha256);
CREATE INDEX documents_incoming ON documents (incoming) WHERE incoming;
CREATE TABLE removed (  -- places whose pages are gone, for those who have listed them
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    segment INTEGER NOT NULL,
    start INTEGER NOT NULL
);
CREATE TRIGGER page_removed AFTER DELETE ON pages BEGIN
    INSERT INTO removed (segment, start) VALUES (old.segment, old.start);
END;
CREATE TABLE metadata (  -- of documents, to find them by; what is not plain has no text
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL,
    text TEXT,
    PRIMARY KEY (document, key)
) WITHOUT ROWID;
CREATE INDEX metadata_by_text ON metadata (key, text);
CREATE TRIGGER document_added AFTER INSERT ON documents BEGIN
    {{metadata}}
END;
CREATE TRIGGER document_changed AFTER UPDATE OF metadata ON documents BEGIN
    DELETE FROM metadata WHERE document = new.id;
    {{metadata}}
END;
""".replace(
    "{metadata}",
    """INSERT INTO metadata SELECT new.id, key,
        CASE WHEN type = 'text' OR typeof(value) = 'integer' AND type = 'integer'
        THEN CAST(value AS TEXT) END FROM json_each(new.metadata);""",
)
"""Makes what has changed cheap to read, however much there is."""

MOVED = """
CREATE TABLE moved (  -- where a rewriting of all pages has written them to
    page INTEGER PRIMARY KEY REFERENCES pages ON DELETE CASCADE,
    segment INTEGER NOT NULL,
    start INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    map BLOB  -- NULL if it is as it was
);
CREATE INDEX moved_by_place ON moved (segment, start);
CREATE TABLE moved_segments (  -- of a rewriting that is not finished
    id INTEGER PRIMARY KEY,
    rows INTEGER NOT NULL,
    settings TEXT NOT NULL  -- of the index, when it will be
);
"""

FILL_METADATA = "UPDATE documents SET metadata = metadata WHERE json_valid(metadata);"

ADDED = {1: TABLES, 2: INCREMENTAL, 3: TEXTS + MOVED}
"""What each format has added to those before it."""


def make_catalogue(folder: Path, settings: Settings) -> None:
    """Make the folder an index, by who holds the writer's lock. It appears whole or not at all."""
    if (folder / NAME).exists():
        raise IndexStateError(f"{folder} already holds an index; open it, or choose another folder")
    if any(_foreign(folder)):
        raise IndexStateError(f"{folder} is not empty; choose another folder for the index")
    draft = folder / f"{NAME}.new"
    (folder / "segments").mkdir(exist_ok=True)
    draft.unlink(missing_ok=True)
    with sqlite_errors(folder):
        _write_draft(draft, settings)
    draft.rename(folder / NAME)
    sync_folder(folder)


def _write_draft(draft: Path, settings: Settings) -> None:
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN; PRAGMA user_version = {FORMAT}; {_schema(FORMAT)}")
        connection.executemany("INSERT INTO settings VALUES (?, ?)", settings.as_rows())
        connection.execute("COMMIT")
    finally:
        connection.close()  # moves the log into the file


def _foreign(folder: Path) -> Iterator[Path]:
    """What can't be left over from an index that was about to be made."""
    ours = (f"{NAME}.new", "segments", LOCK)
    return (path for path in folder.iterdir() if not path.name.startswith(ours))


def connect_reader(folder: Path) -> sqlite3.Connection:
    path = folder / NAME
    if not path.is_file():
        raise IndexStateError(
            f"{folder} holds no index; make one with: docpruner index {folder} FILES"
        )
    with sqlite_errors(folder):
        try:
            return _connect(path, "mode=ro")
        except sqlite3.OperationalError:
            # A folder that can't be written to, as on a read-only disk, where SQLite has no place
            # for its shared memory; nobody can change the file then either.
            if os.access(folder, os.W_OK):
                raise
            return _connect(path, "immutable=1")


def connect_writer(folder: Path) -> sqlite3.Connection:
    with sqlite_errors(folder):
        connection = _connect(folder / NAME, "mode=rw")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection)
        prepare(connection)
        return connection


def _migrate(connection: sqlite3.Connection) -> None:
    found = format_of(connection)
    if found == FORMAT:
        return
    lacks = _schema(FORMAT, max(found, 0)) + (FILL_METADATA if found == 1 else "")
    connection.executescript(f"BEGIN IMMEDIATE; {lacks} PRAGMA user_version = {FORMAT}; COMMIT")


def _schema(upto: int, after: int = 0) -> str:
    return "".join(ADDED[number] for number in range(after + 1, upto + 1))


def format_of(connection: sqlite3.Connection) -> int:
    """Of an old index it is what it was until somebody writes to it."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)


def is_incremental(connection: sqlite3.Connection) -> bool:
    return format_of(connection) > 1


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        isolation_level=None,  # transactions begin where the code says so
        timeout=BUSY_SECONDS,
        check_same_thread=False,  # it is used by one thread after another
    )
    try:
        found = format_of(connection)
        if found > FORMAT:  # whatever its tables are
            raise IndexStateError(
                f"{path.parent} has format {found}, this docpruner knows {FORMAT}; "
                "upgrade docpruner"
            )
        connection.execute("SELECT count(*) FROM settings").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def metadata_of(folder: Path, text: str) -> Metadata:
    with believed(folder):
        return dict(json.loads(text))


def read_settings(connection: sqlite3.Connection) -> Settings:
    return Settings.from_rows(connection.execute("SELECT key, value FROM settings").fetchall())


def has_its_tables(connection: sqlite3.Connection) -> bool:
    """SQLite's own check can't know what the tables should be."""
    listed = f"SELECT type, name, tbl_name, sql FROM sqlite_master WHERE {DERIVED} ORDER BY name"
    with closing(sqlite3.connect(":memory:")) as plain:
        plain.executescript(_schema(format_of(connection)))
        wanted = plain.execute(listed).fetchall()
    return bool(connection.execute(listed).fetchall() == wanted)


def changed_documents(connection: sqlite3.Connection) -> dict[int, str]:
    """Ids and paths of the documents whose entries are not as they were written."""
    rows = connection.execute(
        "SELECT id, path, checksum, sha256, bytes, pages, metadata FROM documents"
    ).fetchall()
    return {
        document: str(path)
        for document, path, checksum, *told in rows
        if document_checksum(path, *told) != checksum
    }


@contextmanager
def sqlite_errors(folder: Path) -> Iterator[None]:
    """What SQLite says, in words that tell what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise IndexStateError(
                f"{folder} stayed busy for {BUSY_SECONDS:.0f} s; another program holds "
                f"{NAME}: close it and run again"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise IndexWriteError(
                f"{folder} can't be written ({text}): is the disk full? What was committed before "
                "is safe; make room and run again"
            ) from error
        if "readonly" in text:
            raise IndexWriteError(f"{folder} can't be written to: it is read-only") from error
        if "unable to open" in text:
            raise IndexStateError(
                f"{folder / NAME} can't be opened: may it be read, and are too many files open?"
            ) from error
        raise _damaged(folder, error) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message may be damaged too
        raise _damaged(folder, error) from error


@contextmanager
def believed(folder: Path) -> Iterator[None]:
    """Where what a catalogue says is taken apart: damaged, it may say anything."""
    try:
        yield
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DamagedIndexError:
    return DamagedIndexError(
        f"{folder / NAME} is damaged ({error}); restore it from a copy, or index the documents "
        "again into another folder"
    )


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
