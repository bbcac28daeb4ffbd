"""Connections to the server of an index: some are kept for the next who reads or writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from docpruner.errors import IndexClosedError, IndexStateError
from docpruner.stores.postgres.postgres_errors import cant_connect, postgres_errors
from docpruner.stores.postgres.postgres_location import Address
from docpruner.stores.postgres.postgres_schema import Connection, State, read_state

MOST = 16  # at once, of one store
SPARE = 4  # kept open
PATIENCE = 60.0  # seconds to wait for one of the others to end

SET_UP = (
    "SELECT set_config('search_path', quote_ident(%s), false), "
    # a client that has vanished gives back its right to write in a minute, not in two hours
    "set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', "
    "false), set_config('tcp_keepalives_count', '3', false)"
)
BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def connect(address: Address) -> Connection:
    try:
        connection = psycopg.connect(autocommit=True, **address.parameters)  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise cant_connect(address, error) from None  # its trace may show what it was given
    try:
        with postgres_errors(address):
            connection.execute(SET_UP, [address.schema])
    except BaseException:
        connection.close()
        raise
    return connection


class Connections:
    """Any thread may ask for one. Those of a server that was started anew are replaced."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._spare: list[Connection] = []
        self._free = threading.BoundedSemaphore(MOST)
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Those that are lent are closed when they come back."""
        with self._lock:
            self._closed = True
            for connection in self._spare:
                connection.close()
            self._spare.clear()

    def check_open(self) -> None:
        if self._closed:
            raise IndexClosedError(self._address.location)

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, State]]:
        """In a transaction that sees one moment, which the state names."""
        with self._lent(BEGIN_READING) as lent:
            yield lent

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """In no transaction."""
        with self._lent("") as (connection, _):
            yield connection

    @contextmanager
    def _lent(self, begin: str) -> Iterator[tuple[Connection, State]]:
        self.check_open()
        if not self._free.acquire(timeout=PATIENCE):
            raise IndexStateError(
                f"{self._address.location}: all {MOST} connections of this process stayed in use "
                f"for {PATIENCE:.0f} s; search with fewer threads"
            )
        connection = None
        try:
            connection, state = self._ready(begin)
            yield connection, state
        finally:
            if connection is not None:
                self._give_back(connection)
            self._free.release()

    def _ready(self, begin: str) -> tuple[Connection, State]:
        while True:
            connection, kept = self._take()
            try:
                if begin:
                    connection.execute(begin)
                return connection, read_state(connection, self._address)
            except psycopg.OperationalError:
                connection.close()
                if not kept:
                    raise
            except BaseException:
                self._give_back(connection)
                raise

    def _take(self) -> tuple[Connection, bool]:
        """One, and whether it was kept: then the server may have gone since."""
        with self._lock:
            self.check_open()
            if self._spare:
                return self._spare.pop(), True
        return connect(self._address), False

    def _give_back(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        with self._lock:
            if not (self._closed or connection.closed) and len(self._spare) < SPARE:
                self._spare.append(connection)
                return
        connection.close()
