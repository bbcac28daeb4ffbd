"""What documents and indexes are called: never by a path, which says where here they lie."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath


def document_id(name: str) -> str:
    """What a document is called in addresses: the same as long as its name is."""
    text = name.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """For each path its last part, with as many folders as it takes to tell it from others."""
    names: dict[str, str] = {}
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in paths:
        alike[PurePath(path).parts[-1:]].append(path)
    while alike:
        longer: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for parts, group in alike.items():
            for path in group:
                whole = PurePath(path).parts
                if len(group) == 1 or len(parts) == len(whole):
                    names[path] = "/".join(parts)
                else:
                    longer[whole[-len(parts) - 1 :]].append(path)
        alike = longer
    return names


def last_part(location: str) -> str:
    """Of a path or an address: the rest may name folders, hosts and passwords."""
    if "://" not in location:
        return Path(location).resolve().name
    scheme, _, rest = location.partition("://")
    return rest.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition("@")[2] or scheme
