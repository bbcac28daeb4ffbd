"""Which indexes make up a set, and how it is opened: the location, and the file it names.

    shards://archive.toml              in this process
    ray:///data/archive.toml           on the Ray cluster that this machine belongs to
    ray://head:10001/data/archive.toml on the cluster at that address

The file lists the shards by their locations; relative paths count from its folder:

    shards = [
        "2023.idx",
        "lance+s3://archive/2024",
        { location = "/data/2025.idx", node = "10.0.0.7" },
    ]

The last is a folder that one machine of the cluster has on a disk of its own.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from docpruner.errors import IndexStateError

TIMEOUT = 30.0  # seconds that a shard has to answer, time to start it again elsewhere included
SETS = ("shards://", "ray://")
EXAMPLE = 'write for example: shards = ["2023.idx", "2024.idx"]'


@dataclass(frozen=True)
class Shard:
    location: str
    node: str = ""  # address of the only machine of a cluster that can read it; empty if all can


@dataclass(frozen=True)
class ShardList:
    """A set of shards, and what is done about those that don't answer."""

    location: str  # as it was given
    shards: tuple[Shard, ...]
    address: str = ""  # of the cluster, host:port
    partial: bool = False  # answer from the others, and say so
    timeout: float = TIMEOUT

    @classmethod
    def read(cls, location: str) -> ShardList:
        address, file, options = _parts(location)
        if not file.is_file():
            raise IndexStateError(
                f"{location} holds no index; make one by listing its shards in {file}: "
                f"{EXAMPLE.removeprefix('write for example: ')}"
            )
        return cls(
            location=location,
            shards=_listed(file),
            address=address,
            partial=_is_on(location, options.get("partial", "0")),
            timeout=_seconds(location, options.get("timeout", str(TIMEOUT))),
        )


def list_exists(location: str) -> bool:
    return _parts(location)[1].is_file()


def _parts(location: str) -> tuple[str, Path, dict[str, str]]:
    """Address, file and options of a location."""
    scheme, _, rest = location.partition("://")
    path, _, query = rest.partition("?")
    address = ""
    if scheme.lower() == "ray":
        address, slash, path = path.partition("/")
        path = slash + path
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = options.keys() - {"partial", "timeout"}
    if unknown:
        raise IndexStateError(
            f"{location}: there is no option {', '.join(sorted(unknown))}; there are partial=1 and "
            "timeout=SECONDS"
        )
    if not path.strip("/"):
        raise IndexStateError(
            f"{location} names no file that lists the shards; write {scheme}://"
            f"{'' if scheme == 'shards' else 'HOST:PORT'}/path/of/archive.toml"
        )
    return address, Path(path).absolute(), options


def _listed(file: Path) -> tuple[Shard, ...]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IndexStateError(f"{file} can't be read: {error}; {EXAMPLE}") from error
    entries = content.get("shards")
    if not isinstance(entries, list) or not entries:
        raise IndexStateError(f"{file} lists no shards; {EXAMPLE}")
    shards = tuple(_shard(file, entry) for entry in entries)
    locations = [shard.location for shard in shards]
    twice = [each for each in locations if locations.count(each) > 1]
    if twice:
        raise IndexStateError(f"{file} lists {twice[0]} twice; a shard is listed once")
    return shards


def _shard(file: Path, entry: Any) -> Shard:
    given = {"location": entry} if isinstance(entry, str) else entry
    fits = (
        isinstance(given, dict)
        and given.keys() <= {"location", "node"}
        and all(isinstance(value, str) and value for value in given.values())
        and "location" in given
    )
    if not fits:
        raise IndexStateError(
            f"{file}: {entry!r} is no shard; give its location, or "
            '{ location = "/data/2025.idx", node = "10.0.0.7" }'
        )
    location: str = given["location"]
    if location.lower().startswith(SETS):
        raise IndexStateError(f"{file}: {location} is a set of shards itself; list its shards")
    if "://" not in location:
        location = str((file.parent / location).absolute())
    return Shard(location, given.get("node", ""))


def _is_on(location: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise IndexStateError(f"{location}: partial={value} is neither 0 nor 1")
    return value == "1"


def _seconds(location: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise IndexStateError(f"{location}: timeout={value} is no number of seconds")
    return seconds
