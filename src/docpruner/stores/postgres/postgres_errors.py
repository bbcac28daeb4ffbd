"""What PostgreSQL says, in words that tell what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from docpruner.errors import DamagedIndexError, DocPrunerError, IndexStateError, IndexWriteError
from docpruner.stores.postgres.postgres_location import Address

CONNECTING = (
    # part of the message, in which no code tells one failure from another; what to do
    ("no password supplied", "set PGPASSWORD, or write the password into ~/.pgpass"),
    ("password authentication failed", "check the user, and PGPASSWORD or ~/.pgpass"),
    ("database", "make the database with createdb, or name another one"),
    ("role", "make the role with createuser, or name another one"),
    ("too many", "close other clients, or raise max_connections"),
    ("remaining connection slots", "close other clients, or raise max_connections"),
    ("refused", "start the server, or check host and port"),
    ("No such file", "start the server, or check host and port"),
    ("starting up", "wait until it is up, and run again"),
)
ELSE = "check that the server runs and may be reached, and host, port, user and password"

LOST = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
"""Of the server's own errors those by which a connection ends."""


def cant_connect(address: Address, error: psycopg.Error) -> IndexStateError:
    text = _first_line(error)
    said = text.rpartition("FATAL:")[2].strip() if "FATAL:" in text else text
    remedy = next((what for part, what in CONNECTING if part in said), ELSE)
    return IndexStateError(
        f"{address.location}: can't connect to {address.server} ({said}); {remedy}"
    )


@contextmanager
def postgres_errors(address: Address, *, writing: bool = False) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _told(address, error, writing=writing) from error


def _told(address: Address, error: psycopg.Error, *, writing: bool) -> DocPrunerError:
    where, said = address.location, _first_line(error)
    if isinstance(error, LOST) or (
        isinstance(error, psycopg.OperationalError) and not error.sqlstate
    ):
        lost = f"{where}: lost the connection to {address.server} ({said})"
        if writing:
            return IndexWriteError(
                f"{lost}. What was committed before is safe, the change that was being made is in "
                "whole or not at all; check the server and run again"
            )
        return IndexStateError(f"{lost}; check the server and try again")
    if isinstance(error, (errors.UndefinedTable, errors.InvalidSchemaName)):
        return no_index(address)
    if isinstance(error, errors.InsufficientPrivilege):
        kind = IndexWriteError if writing else IndexStateError
        return kind(
            f"{where}: the role has no right to do this ({said}); ask the owner of the schema "
            f'"{address.schema}" to grant it'
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return IndexWriteError(
            f"{where} can't be written to: the server is read-only, as a standby is"
        )
    if isinstance(error, (errors.DiskFull, errors.ConfigurationLimitExceeded)):
        return IndexWriteError(
            f"{where} can't be written ({said}): is the server's disk full? What was committed "
            "before is safe; make room and run again"
        )
    if isinstance(error, errors.QueryCanceled):
        return IndexStateError(
            f"{where}: the server has stopped a statement ({said}); raise its statement_timeout "
            "for this role, or set it to 0"
        )
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return DamagedIndexError(f"{where} is damaged ({said}); restore the database from a backup")
    kind = IndexWriteError if writing else IndexStateError
    return kind(f"{where}: PostgreSQL says: {said}")


def no_index(address: Address) -> IndexStateError:
    return IndexStateError(
        f"{address.location} holds no index; make one with: "
        f"docpruner index {address.location} FILES"
    )


def _first_line(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
