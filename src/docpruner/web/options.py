"""How an index is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True)
class ServerOptions:
    """`hosts` are the names that a request may call the server by; None is any."""

    uploads: Path | None = None  # the folder that added documents are kept in
    allow_changes: bool = False
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK
    max_upload: int = 100 << 20  # bytes
    max_files: int = 50  # of one upload
