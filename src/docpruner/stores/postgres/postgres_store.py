"""An index in PostgreSQL: many clients read it at once, and change it in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self

import psycopg
from psycopg import errors, sql

from docpruner.errors import IndexBusyError, IndexWriteError
from docpruner.stores.contract import WAIT, Progress
from docpruner.stores.postgres.postgres_connections import Connections, connect
from docpruner.stores.postgres.postgres_errors import postgres_errors
from docpruner.stores.postgres.postgres_health import damages
from docpruner.stores.postgres.postgres_location import Address, read_location
from docpruner.stores.postgres.postgres_reader import PostgresReader
from docpruner.stores.postgres.postgres_schema import (
    Connection,
    check_usable,
    lock_number,
    make_tables,
    migrate,
    read_state,
)
from docpruner.stores.postgres.postgres_writer import PostgresWriter
from docpruner.stores.records import Damage
from docpruner.stores.settings import Settings

TABLES = ("documents", "pages", "page_details", "page_lexemes")


class PostgresStore:
    """Its location leaves out the password: who opens it again has it in PGPASSWORD or in the
    password file, or gives it anew."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connections = Connections(address)
        try:
            with self.reader() as reader:
                _ = reader.settings
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, location: str, settings: Settings) -> PostgresStore:
        address = read_location(location)
        connection = connect(address)
        try:
            with postgres_errors(address, writing=True):
                make_tables(connection, address, settings)
        finally:
            connection.close()
        return cls(address)

    @classmethod
    def open(cls, location: str) -> PostgresStore:
        return cls(read_location(location))

    @classmethod
    def exists(cls, location: str) -> bool:
        """IndexStateError where the server or the database is not there."""
        address = read_location(location)
        connection = connect(address)
        try:
            with postgres_errors(address):
                found = connection.execute("SELECT to_regclass('state') IS NOT NULL").fetchone()
                if found != (True,):
                    check_usable(connection, address)
                return found == (True,)
        finally:
            connection.close()

    @property
    def location(self) -> str:
        return self._address.location

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def reader(self) -> Iterator[PostgresReader]:
        with (
            postgres_errors(self._address),
            self._connections.reading() as (connection, state),
        ):
            yield PostgresReader(self._address, connection, state)

    @contextmanager
    def writer(self, wait: float = WAIT) -> Iterator[PostgresWriter]:
        with self._locked(wait) as connection:
            yield PostgresWriter(self._address, connection)

    @contextmanager
    def _locked(self, wait: float) -> Iterator[Connection]:
        """The right to write, which the server gives to one client at a time and takes back when
        its connection ends."""
        with (
            postgres_errors(self._address, writing=True),
            self._connections.writing() as connection,
        ):
            number = lock_number(connection, self._address)
            self._lock(connection, number, wait)
            try:
                migrate(connection, read_state(connection, self._address))
                yield connection
            finally:
                with suppress(psycopg.Error):  # a connection that is lost holds no lock
                    connection.execute("SELECT pg_advisory_unlock(%s)", [number])

    def _lock(self, connection: Connection, number: int, wait: float) -> None:
        if wait <= 0:
            held = connection.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchone()
            if held != (True,):
                raise IndexBusyError(self.location, wait)
            return
        patience = max(1, round(wait * 1000))
        connection.execute("SELECT set_config('lock_timeout', %s, false)", [str(patience)])
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", [number])
        except errors.LockNotAvailable:
            raise IndexBusyError(self.location, wait) from None
        finally:
            with suppress(psycopg.OperationalError):
                connection.execute("SELECT set_config('lock_timeout', '0', false)")

    def verify(
        self, *, isolate: bool = True, wait: float = WAIT, progress: Progress | None = None
    ) -> list[Damage]:
        with (
            postgres_errors(self._address),
            self._connections.reading() as (connection, _),
        ):
            found = list(damages(connection, progress))
        if found and isolate:
            with self.writer(wait) as writer:
                writer.delete_pages([page for page, _ in found])
        return [damage for _, damage in found]

    def compact(self, *, wait: float = WAIT, progress: Progress | None = None) -> None:
        """Room of what was removed can be used again, and searches are planned anew. The files
        shrink only where their ends are free; they are never locked."""
        refused: list[str] = []
        with self._locked(wait) as connection:
            handler = lambda told: refused.append(str(told.message_primary))  # noqa: E731
            connection.add_notice_handler(handler)
            try:
                for done, table in enumerate(TABLES, 1):
                    connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))
                    if progress is not None:
                        progress(done, len(TABLES))
            finally:
                connection.remove_notice_handler(handler)
        if refused:
            raise IndexWriteError(
                f"{self.location}: {refused[0]}; only the owner of the tables can compact them"
            )
