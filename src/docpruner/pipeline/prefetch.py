"""An iterator that runs ahead in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_PATIENCE = 0.1  # seconds between looks at whether anybody still listens


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetch(
    items: Iterator[T], size: int, *, interrupt: Callable[[], None] | None = None
) -> Iterator[T]:
    """The same items, at most `size` of them made in advance. Errors come out in their place.

    Closing the result stops the thread at its next item, and waits for it; `interrupt` is called
    first, to cut short what the thread is waiting for.
    """
    ready: queue.Queue[T | _End] = queue.Queue(maxsize=size)
    closed = threading.Event()

    def offer(item: T | _End) -> None:
        while not closed.is_set():
            try:
                return ready.put(item, timeout=_PATIENCE)
            except queue.Full:
                continue
        return None

    def run() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                offer(item)
                if closed.is_set():
                    break
        except BaseException as caught:  # raised again where it is waited for
            error = caught
        offer(_End(error))

    thread = threading.Thread(target=run, name="docpruner-reader", daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        closed.set()
        if interrupt is not None:
            interrupt()
        thread.join()
