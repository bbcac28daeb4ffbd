"""Files on object storage, named by their URLs: fetched to a temporary file when they are read.

`s3://`, `gs://`, `abfs://`, `hdfs://` and `file://`, by pyarrow. What has changed is told by size
and time, so that nothing need be fetched of a document that an index knows.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docpruner.errors import DocPrunerError, MissingExtraError, PageError
from docpruner.pages.file_source import FileSource
from docpruner.pages.files import supported
from docpruner.pages.reader import PageReader
from docpruner.pages.unread import FollowedFiles, UnreadFiles, UnreadPage, unread
from docpruner.types import Page


def is_url(path: str | os.PathLike[str]) -> bool:
    return "://" in os.fspath(path)


class FetchedFile:
    """The file of a URL on this machine: the one that was asked for last."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="docpruner-")
        self._url, self._path = "", Path()

    def of(self, url: str) -> Path:
        """PageError if it can't be had."""
        if url != self._url:
            self._url = ""
            if self._path.name:
                self._path.unlink(missing_ok=True)
            self._path = Path(self._folder) / posixpath.basename(url)
            system, path = _opened(url)
            try:
                with system.open_input_stream(path) as source, self._path.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
            except OSError as error:
                raise _unreachable(url, error) from None
            self._url = url
        return self._path

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class ObjectDocument:
    """Its name is its URL."""

    name: str
    content_hash: bytes
    bytes: int
    reader: PageReader
    fetched: FetchedFile

    def count(self) -> int:
        try:
            return self.reader.open(self.fetched.of(self.name))
        except PageError as error:
            raise PageError(self.name, error.reason, error.remedy) from None

    def pages(self, numbers: Sequence[int]) -> Iterator[Page | PageError]:
        for number in numbers:
            name = f"{posixpath.basename(self.name)}#{number}"
            yield UnreadPage(name, unread, number=number, path=self.name)


class ObjectFiles:
    """The documents at URLs of files, and below URLs of folders, to be read by somebody else."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._reader = PageReader(pixels=None, words=False)
        self._fetched = FetchedFile()
        self._files = [file for url in urls for file in _below(url)]
        self.size = sum(file.bytes for file in self._files if isinstance(file, _Listed))

    def documents(self) -> Iterator[ObjectDocument | PageError]:
        for file in self._files:
            if isinstance(file, PageError):
                yield file
                continue
            seen = hashlib.sha256(f"{file.bytes} {file.changed}".encode()).digest()
            yield ObjectDocument(file.url, seen, file.bytes, self._reader, self._fetched)

    def close(self) -> None:
        self._reader.close()
        self._fetched.close()


@dataclass(frozen=True)
class _Listed:
    url: str
    bytes: int
    changed: int  # nanoseconds since 1970


def _below(url: str) -> Iterator[_Listed | PageError]:
    """The files at a URL, sorted by their names; one that is named by itself may be of any kind."""
    try:
        system, start = _opened(url)
        from pyarrow import fs

        given = system.get_file_info(start)
        if given.type == fs.FileType.NotFound:
            yield PageError(url, "does not exist", "check the URL")
            return
        folder = given.type == fs.FileType.Directory
        found = system.get_file_info(fs.FileSelector(start, recursive=True)) if folder else [given]
    except PageError as problem:
        yield problem
        return
    except OSError as error:
        yield _unreachable(url, error)
        return
    files = [file for file in found if file.type == fs.FileType.File and _wanted(file.path, start)]
    if not files:
        yield PageError(url, "holds no document", "give a PDF or an image, or a folder with some")
    for file in sorted(files, key=lambda each: each.path):
        below = posixpath.relpath(file.path, start) if folder else ""
        name = f"{url.rstrip('/')}/{below}" if folder else url
        yield _Listed(name, file.size or 0, file.mtime_ns or 0)


def _wanted(path: str, start: str) -> bool:
    below = path[len(start) :] if path != start else posixpath.basename(path)
    hidden = any(part.startswith(".") for part in below.split("/") if part)
    return path == start or (supported(path) and not hidden)


def _opened(url: str) -> tuple[Any, str]:
    try:
        from pyarrow import fs
    except ImportError:
        raise MissingExtraError("files on object storage", "ray") from None
    try:
        system, path = fs.FileSystem.from_uri(url)
    except (OSError, ValueError) as error:  # pyarrow's own errors are both
        raise _unreachable(url, error) from None
    return system, path


def _unreachable(url: str, error: Exception) -> PageError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return PageError(url, f"can't be reached ({reason})", "check the URL and your access to it")


def unread_source(
    paths: Iterable[str | os.PathLike[str]], root: str, *, follow: bool
) -> UnreadFiles | ObjectFiles:
    """Files and folders, or URLs, whose pages somebody else reads; moved files are found if they
    are to be followed."""
    given = list(paths)
    urls = [os.fspath(path) for path in given if is_url(path)]
    if not urls:
        files = FileSource(given, pixels=None, words=False, root=root)
        return FollowedFiles(files) if follow else UnreadFiles(files)
    if len(urls) < len(given):
        raise DocPrunerError("some of these are URLs and some are files; add them one by one")
    return ObjectFiles(urls)
