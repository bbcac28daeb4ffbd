"""The right to write to an index on a server, which knows no locks.

The head names who has it, and counts on while they live. Taking it is one operation on one point
with a condition, so two can't take it at once. Who has not been heard of for `PATIENCE` seconds
loses it; no clocks of two machines are compared. Whoever was only slow, a machine that was asleep,
looks before the next request, finds another name in the head and stops; and a commit has the name
for its condition. What is left is a request that was on its way all the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from docpruner.errors import DocPrunerError, IndexBusyError, IndexStateError
from docpruner.stores.qdrant.history import HEAD, NOBODY, Head, read_head
from docpruner.stores.qdrant.points import Among, Engine

PATIENCE = 8.0  # seconds; less than writers wait by default
BEAT = 1.5
LOOK = 0.1


class Right:
    """To write, from `head` on."""

    def __init__(self, engine: Engine, location: str, head: Head) -> None:
        self._engine, self._location = engine, location
        self.head = head
        self._heard = time.time()  # which goes on in a machine that sleeps
        self._stop = threading.Event()

    def check(self) -> None:
        """IndexStateError if somebody else has the right by now."""
        if self._engine.writing is None and time.time() - self._heard > PATIENCE / 2:
            if _head(self._engine, self._location).owner != self.head.owner:
                raise lost(self._location)
            self._heard = time.time()

    def keep(self) -> None:
        """Say again and again that the owner lives, until `stop`."""
        beat = self.head.beat
        while not self._stop.wait(BEAT):
            beat += 1
            asked = time.time()
            with suppress(DocPrunerError):  # the next request will say what is wrong
                self.check()
                self._engine.put((*HEAD, Among("owner", [self.head.owner])), {"beat": beat})
                self._heard = asked

    def stop(self) -> None:
        self._stop.set()


def lost(location: str) -> IndexStateError:
    return IndexStateError(
        f"another process has begun to write to {location}, as this one was not heard of for "
        f"{PATIENCE:g} s; what it had committed is safe, run it again"
    )


@contextmanager
def right_to_write(engine: Engine, location: str, wait: float) -> Iterator[Right]:
    """Waits so many seconds for another writer; then an IndexBusyError."""
    if engine.writing is None:
        with _leased(engine, location, wait) as right:
            yield right
    elif not engine.writing.acquire(timeout=wait):
        raise IndexBusyError(location, wait)
    else:
        try:
            yield Right(engine, location, _head(engine, location))
        finally:
            engine.writing.release()


@contextmanager
def _leased(engine: Engine, location: str, wait: float) -> Iterator[Right]:
    right = Right(engine, location, _taken(engine, location, wait))
    keeping = threading.Thread(target=right.keep, daemon=True)
    keeping.start()
    try:
        yield right
    finally:
        right.stop()
        keeping.join()
        with suppress(DocPrunerError):  # then it ends by itself
            engine.put((*HEAD, Among("owner", [right.head.owner])), {"owner": NOBODY})


def _taken(engine: Engine, location: str, wait: float) -> Head:
    own, deadline = uuid4().hex, time.monotonic() + wait
    seen, since = ("", 0), 0.0
    while True:
        head, now = _head(engine, location), time.monotonic()
        if (head.owner, head.beat) != seen:
            seen, since = (head.owner, head.beat), now
        if head.owner == NOBODY or now - since >= PATIENCE:
            same = (Among("owner", [head.owner]), Among("beat", [head.beat]))
            engine.put(HEAD + same, {"owner": own, "beat": head.beat + 1})
            head = _head(engine, location)
            if head.owner == own:
                return head
        if time.monotonic() >= deadline:
            raise IndexBusyError(location, wait)
        time.sleep(min(LOOK, wait))


def _head(engine: Engine, location: str) -> Head:
    head = read_head(engine, location)
    if head is None:
        raise IndexStateError(f"{location} holds no index any more; make one with Index.create")
    return head
