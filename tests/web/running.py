"""Servers as processes of their own, on any free port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx

import docpruner

TESTS = Path(__file__).parent.parent
SOURCE = Path(docpruner.__file__).parent.parent


class Server:
    """`docpruner serve`, or another program that says where it listens."""

    def __init__(
        self, program: Sequence[str], *, token: str | None = None, path: str | None = None
    ) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (SOURCE, TESTS)))}
        environment["PATH"] = path or environment["PATH"]
        environment.pop("DOCPRUNER_TOKEN", None)
        if token is not None:
            environment["DOCPRUNER_TOKEN"] = token
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", *program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        line = self.process.stdout.readline()
        address = re.search(r"http://\S+?:(\d+)/(?:#token=(\S+))?", line)
        if address is None:
            self.process.kill()
            raise AssertionError(f"no address in {line!r}: {self.process.communicate()[1]}")
        self.line, self.address, self.port = line, address[0], int(address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = token or address[2]
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}".encode()}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """How it ended, and what it said on standard error."""
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(by)
        try:
            _, errors = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = self.process.communicate()
        return self.process.returncode, errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def get(self, path: str, **options: object) -> httpx.Response:
        return self.client.get(path, **options)

    def ids(self) -> dict[str, str]:
        """Of the documents, by their names."""
        documents = self.get("/api/documents").json()["documents"]
        return {document["name"]: document["id"] for document in documents}

    def upload(self, *files: tuple[str, bytes], **options: object) -> httpx.Response:
        sent = [("files", (name, content)) for name, content in files]
        return self.client.post("/api/documents", files=sent, **options)

    def finished(self, job: str, seconds: float = 60) -> dict:
        """What became of an upload."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            state = self.get(f"/api/jobs/{job}").json()
            if state["state"] != "running":
                return state
            time.sleep(0.05)
        raise AssertionError(f"still running: {state}")


def served(index: Path, *options: str, token: str | None = None, path: str | None = None) -> Server:
    """As a user starts it; with a token of its own, unless told otherwise."""
    command = ["-m", "docpruner", "serve", str(index), "--port", "0", *options]
    return Server(command, token=token, path=path)


def served_words(index: Path, *options: str, token: str | None = None) -> Server:
    """Over an index of `WordEncoder`; see `web.words_server` for the options."""
    return Server(["-m", "web.words_server", str(index), *options], token=token)
