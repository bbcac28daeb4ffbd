"""A location to its store: a path is a folder, `scheme://…` says of which kind, None is memory."""

from __future__ import annotations

import os
import re
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from docpruner.errors import IndexStateError
from docpruner.stores.contract import Store, StoreKind
from docpruner.stores.settings import Settings

Location = str | os.PathLike[str] | None

GROUP = "docpruner.stores"
"""Entry points of other packages: `scheme = "module:ClassOfStore"`."""

KINDS = {
    "lance": "docpruner.stores.lance_store.lance_store:LanceStore",
    "lance+s3": "docpruner.stores.lance_store.lance_store:LanceStore",
    "memory": "docpruner.stores.memory:MemoryStore",
    "postgres": "docpruner.stores.postgres.postgres_store:PostgresStore",
    "postgresql": "docpruner.stores.postgres.postgres_store:PostgresStore",
    **dict.fromkeys(
        ("qdrant", "qdrant+https", "qdrant+edge"),
        "docpruner.stores.qdrant.qdrant_store:QdrantStore",
    ),
    "ray": "docpruner.integrations.ray_shards:RayStore",
    "shards": "docpruner.stores.shards.sharded:ShardedStore",
}
FOLDER = "docpruner.stores.folder.store:FolderStore"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def create_store(location: Location, settings: Settings) -> Store:
    text = _text(location)
    return _kind(text).create(text, settings)


def open_store(location: Location) -> Store:
    text = _text(location)
    return _kind(text).open(text)


def store_exists(location: Location) -> bool:
    text = _text(location)
    return _kind(text).exists(text)


def _text(location: Location) -> str:
    if location is None:
        return "memory://"
    text = os.fspath(location)
    if not text:
        raise IndexStateError("the index has no name; give a folder, or a location like lance://…")
    return text


def _kind(location: str) -> StoreKind:
    scheme = _SCHEME.match(location)
    if scheme is None:
        return _loaded(FOLDER)
    name = scheme[1].lower()
    if name in KINDS:
        return _loaded(KINDS[name])
    others = {point.name: point for point in entry_points(group=GROUP)}
    if name not in others:
        known = ", ".join(f"{each}://" for each in sorted({*KINDS, *others}))
        raise IndexStateError(
            f"no store for {name}://…; give a folder, or one of: {known} (other packages may "
            f"bring more)"
        )
    return cast(StoreKind, others[name].load())


def _loaded(where: str) -> StoreKind:
    module, _, name = where.partition(":")
    return cast(StoreKind, getattr(import_module(module), name))
