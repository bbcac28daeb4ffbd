"""Lanes: threads one after another, each at work on what the one before it has made.

Between two of them is a channel that holds a few things in their order. An error comes out of a
channel in its place, after all that came before it; whoever fails stops those before it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class _StoppedError(BaseException):
    """Nobody will take what this lane makes. No `Exception`, so that no lane takes it for one."""


class Channel(Generic[T]):
    """At most `size` things on their way from one thread to another."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: deque[T] = deque()
        self._ended, self._closed = False, False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, item: T) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._waiting) < self._size)
            if self._closed:
                raise _StoppedError
            self._waiting.append(item)
            self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Nothing follows, or only this error."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def close(self) -> None:
        """Stop whoever puts something in or waits for something, at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[T]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._ended or self._waiting)
                if self._closed:
                    raise _StoppedError
                if not self._waiting:
                    if self._error is not None:
                        raise self._error
                    return
                item = self._waiting.popleft()
                self._changed.notify_all()
            yield item


class Lanes:
    """The lanes of one run, begun in their order. Leaving the `with` block ends all of them.

    `interrupt` is called then, to cut short what the first one may be waiting for.
    """

    def __init__(self, interrupt: Callable[[], None] | None = None) -> None:
        self._interrupt = interrupt
        self._channels: list[Channel[object]] = []
        self._threads: list[threading.Thread] = []

    def channel(self, size: int) -> Channel[T]:
        made: Channel[T] = Channel(size)
        self._channels.append(made)  # type: ignore[arg-type]  # of any kind of item
        return made

    def begin(self, name: str, items: Iterable[T], size: int) -> Channel[T]:
        """Make these items in a thread of their own, at most `size` of them in advance."""
        made: Channel[T] = self.channel(size)
        thread = threading.Thread(
            target=self._run_apart, args=(items, made), name=f"docpruner-{name}", daemon=True
        )
        self._threads.append(thread)
        thread.start()
        return made

    def run(self, items: Iterable[T], to: Channel[T]) -> None:
        """Make these items in this thread; Ctrl-C comes through, errors come out of the channel."""
        try:
            for item in items:
                to.put(item)
            to.end()
        except (_StoppedError, Exception) as error:
            self._fail(to, error)

    def _run_apart(self, items: Iterable[T], to: Channel[T]) -> None:
        try:
            self.run(items, to)
        except BaseException as error:  # raised again where it is waited for
            self._fail(to, error)

    def _fail(self, channel: Channel[T], error: BaseException) -> None:
        channel.end(error)
        for before in self._channels[: self._channels.index(channel)]:  # type: ignore[arg-type]
            before.close()

    def close(self) -> None:
        for channel in self._channels:
            channel.close()
        if self._interrupt is not None:
            self._interrupt()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
