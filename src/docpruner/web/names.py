"""What documents are called: never by a path, which would say where on this computer they lie."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePath


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
