"""Threads for blocking work, a few for each kind: what is slow can't hold up the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from docpruner.web.error_responses import Refused

T = TypeVar("T")


class BoundedPool:
    """So many threads, and so many requests that may wait for one; more are refused."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._limiter: CapacityLimiter | None = None  # belongs to a running event loop
        self._threads, self._most = threads, threads + waiting
        self._inside = 0

    async def run(self, work: Callable[[], T]) -> T:
        if self._inside >= self._most:
            raise Refused(429, "the server is busy; try again in a moment")
        self._limiter = self._limiter or CapacityLimiter(self._threads)
        self._inside += 1
        try:
            return await run_sync(work, limiter=self._limiter)
        finally:
            self._inside -= 1


class Pools:
    def __init__(self) -> None:
        self.light = BoundedPool(8, 256)  # reading from the index
        self.search = BoundedPool(2, 128)
        self.pictures = BoundedPool(4, 256)
        self.sums = BoundedPool(1, 32)  # over all pages
