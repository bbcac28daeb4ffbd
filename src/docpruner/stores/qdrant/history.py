"""From which commit to which a point holds, and the head that says which commit is the last.

Points of commit n + 1 are written while the head says n, so no reader sees them. Setting the head
to n + 1 is one operation on one point: it happens or it doesn't, and then all of the commit is
there or nothing. What a writer that was killed left behind is undone by the next one.

| field   | of                  | is                                                        |
|---------|---------------------|-----------------------------------------------------------|
| born    | pages and documents | the commit that wrote the point                           |
| shown   | pages               | the commit from which it is searched, `FAR` if not yet    |
| died    | pages and documents | the commit that replaced or removed it, `FAR` if none     |
| died_at | what died           | the time, in seconds; dead points stay `GRACE` longer     |
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from docpruner.errors import IndexStateError
from docpruner.stores.qdrant.points import (
    Among,
    Between,
    Datatype,
    Engine,
    Payload,
    Point,
    Quantization,
    Where,
)
from docpruner.stores.settings import Settings

FORMAT = 1
FAR = 1 << 40
GRACE = 600  # seconds for which a reader goes on seeing what it saw
NOBODY = "nobody"

HEAD_ID = "d0c00000-0000-5000-8000-000000000001"
HEAD: Where = (Among("kind", ("head",)),)
PAGES: Where = (Among("kind", ("page",)),)
DOCUMENTS: Where = (Among("kind", ("document",)),)


@dataclass(frozen=True)
class Head:
    index: str  # another one for every index that was ever made
    commit: int
    versions: int  # of documents that there have been
    purged: int  # when dead points were last removed
    settings: Settings
    datatype: Datatype  # of the numbers that the engine stores
    quantization: Quantization | None
    owner: str  # of the right to write
    beat: int  # goes on while the owner lives

    @property
    def rows_are_vectors(self) -> bool:
        """Whether the engine's numbers are the codec's, bit for bit. Else rows are payload."""
        return self.settings.codec in ("float16", self.datatype)

    @property
    def point(self) -> Point:
        payload = {
            "kind": "head",
            "format": FORMAT,
            "index": self.index,
            "commit": self.commit,
            "versions": self.versions,
            "purged": self.purged,
            "settings": settings_text(self.settings),
            "datatype": self.datatype,
            "quantization": self.quantization,
            "owner": self.owner,
            "beat": self.beat,
        }
        return Point(HEAD_ID, payload)


def settings_text(settings: Settings) -> str:
    return json.dumps(settings.as_rows())


def read_head(engine: Engine, location: str) -> Head | None:
    payload = next((found.payload for found in engine.scan(HEAD)), None)
    if payload is None:
        return None
    if payload["format"] != FORMAT:
        raise IndexStateError(
            f"{location} was made by a newer version of docpruner; upgrade it: "
            "pip install --upgrade docpruner"
        )
    return _head(payload)


def _head(payload: Payload) -> Head:
    return Head(
        index=payload["index"],
        commit=payload["commit"],
        versions=payload["versions"],
        purged=payload["purged"],
        settings=Settings.from_rows(
            [(name, value) for name, value in json.loads(payload["settings"])]
        ),
        datatype=payload["datatype"],
        quantization=payload["quantization"],
        owner=payload["owner"],
        beat=payload["beat"],
    )


def alive(commit: int) -> Where:
    """Points that hold at a commit, of versions on their way in too."""
    return (Between("born", high=commit), Between("died", low=commit + 1))


def searchable(commit: int) -> Where:
    return (Between("shown", high=commit), Between("died", low=commit + 1))


def undo_after(engine: Engine, commit: int) -> None:
    """Take back what was written for a commit that never came."""
    engine.remove((Between("born", low=commit + 1),))
    for field in ("shown", "died"):
        engine.put((Between(field, low=commit + 1, high=FAR - 1),), {field: FAR})


def purge(engine: Engine, head: Head, before: float | None = None) -> None:
    """Remove dead points, those that died before a time or all."""
    dead: Where = (Between("died", high=head.commit),)
    if before is not None:
        dead += (Between("died_at", high=int(before)),)
    if engine.count(dead):
        engine.put(HEAD, {"purged": head.commit})  # first: who has an older list reads it anew
        engine.remove(dead)
