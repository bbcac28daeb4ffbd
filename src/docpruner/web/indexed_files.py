"""Files as they were indexed: nothing else is drawn, read for words, or sent."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from io import BufferedReader
from typing import NamedTuple

from docpruner.pages.files import supported
from docpruner.stores.records import DocumentEntry
from docpruner.web.error_responses import Refused
from docpruner.web.lru_cache import LruCache

CHANGED = "the file has changed since it was indexed; index it again"
DIGESTS_KEPT = 4096
LOCKS = 16

# a pipe must not block, and what was no link when it was resolved must not have become one
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class FileState(NamedTuple):
    """A file as it is now; one that was changed or replaced has another."""

    path: str
    device: int
    inode: int
    modified: int
    changed: int  # in any way, also by who sets its time back
    bytes: int


class IndexedFiles:
    """Tells by their SHA-256 whether files are still what was indexed, and reads each once for it.

    Any thread may use it.
    """

    def __init__(self, path_of: Callable[[str], str]) -> None:
        self.path_of = path_of  # of the file of a document
        self._digests: LruCache[FileState, bytes] = LruCache(DIGESTS_KEPT)
        self._locks = [threading.Lock() for _ in range(LOCKS)]  # so that a file is read by one

    def state(self, entry: DocumentEntry) -> FileState:
        """Of a file that is as it was indexed; refused if it is gone, or another."""
        file, state = self.open(entry)
        file.close()
        return state

    def open(self, entry: DocumentEntry) -> tuple[BufferedReader, FileState]:
        """The file itself: whatever takes its place from now on, this is what was indexed."""
        path = self.path_of(entry.name)
        if not os.path.isabs(path):
            raise Refused(404, "this document was not added from a file; it has no pictures")
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            raise Refused(404, "the file is gone; put it back or remove the document") from None
        except PermissionError:
            raise Refused(409, "the file may not be read; check its permissions") from None
        except (OSError, ValueError):
            raise Refused(409, CHANGED) from None
        try:
            state = _state(path, os.fstat(file.fileno()))
            if self._digest(file, state) != entry.content_hash:
                raise Refused(409, CHANGED)
        except BaseException:
            file.close()
            raise
        return file, state

    def _digest(self, file: BufferedReader, state: FileState) -> bytes:
        with self._locks[hash(state.path) % LOCKS]:
            digest = self._digests.get(state)
            if digest is None:
                digest = hashlib.file_digest(file, "sha256").digest()
                file.seek(0)
                if _state(state.path, os.fstat(file.fileno())) == state:
                    self._digests.put(state, digest)
            return digest


def _opened(path: str) -> BufferedReader:
    """A regular file that lies where it was indexed; OSError for anything else.

    Files are indexed under their real paths, so a path that leads through a link by now leads
    elsewhere. Only a link whose target has no known ending was indexed under its own name.
    """
    real = os.path.realpath(path)
    is_link = real != path
    folder = os.path.dirname(path)
    if is_link and (supported(real) or os.path.realpath(folder) != folder):
        if not os.path.lexists(real):
            raise FileNotFoundError(path)
        raise OSError(f"{path} leads to {real}")
    descriptor = os.open(path, FLAGS | (0 if is_link else NO_LINK))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _state(path: str, status: os.stat_result) -> FileState:
    return FileState(
        path,
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
    )
