"""Pictures that the children of a `PageReader` are asked for before their turn.

A picture is a file of one page, so its pages can't be shared; several of them can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from docpruner.errors import PageError
from docpruner.pages.child import Child
from docpruner.pages.messages import Message

EACH = 2  # pictures that a child may have before it: one is no sooner done than the next begins

Stamp = tuple[int, int, int, int]
"""Of a file: another one means that its content may be another."""


class EarlyPictures:
    """Which child was asked for which picture; each answers in the order it was asked.

    Not all that come next will be opened: an index may have them already. So it begins with one,
    asks for twice as many whenever the next in line is opened, and after one that was passed over
    for none until then.
    """

    def __init__(self, most: int) -> None:
        self._most = most  # children
        self._asked: dict[Path, tuple[Stamp, Child]] = {}
        self._coming: list[Path] = []  # the file that is opened now, and pictures after it
        self._trust = 1  # how many of those are asked for

    def expect(self, path: Path, ahead: Iterable[Path]) -> set[Child]:
        """Takes note of what comes; returns the children that are busy with anything else."""
        if len(self._coming) > 1:
            self._trust = max(1, 2 * self._trust) if path == self._coming[1] else 0
        longest = EACH * self._most if self._most > 1 else 0
        self._coming = [path, *islice(map(_absolute, ahead), longest)]
        lost = {child for file, (_, child) in self._asked.items() if file not in self._coming}
        if path in self._asked:
            stamp, child = self._asked[path]
            if _stamp(path) != stamp:  # it was changed, maybe after it was read
                lost.add(child)
        return lost

    def ask(self, children: list[Child], start: Callable[[], Child], page: Message) -> None:
        """For what comes, of children that have time; `page` is the request for page 1."""
        for place, file in enumerate(self._coming[: 1 + self._trust]):
            stamp = None if file in self._asked else _stamp(file)
            if stamp is None:
                continue
            # one that was lost with its child may not wait behind one that comes after it
            in_turn = not any(later in self._asked for later in self._coming[place:])
            child = self._free_child(children, start, in_turn=in_turn)
            if child is None:
                return
            self._asked[file] = stamp, child
            child.ask({"open": str(file)})
            child.ask(page)

    def _free_child(
        self, children: list[Child], start: Callable[[], Child], *, in_turn: bool
    ) -> Child | None:
        free = [child for child in children if child.alive and (in_turn or not self.pending(child))]
        idlest = min(free, key=self._work, default=None)
        if (idlest is None or self._work(idlest)) and len(children) < self._most:
            with suppress(PageError):  # reported if a file that is opened can't do without
                return start()
        return idlest if idlest is not None and self._work(idlest) < EACH else None

    def _work(self, child: Child) -> int:
        """Pictures that it has yet to read, while what is pending may be read already."""
        return self.pending(child) - child.waiting // 2

    @property
    def any_coming(self) -> bool:
        """Whether anything is to be asked for, or was, but the file that is opened now."""
        return bool(self._asked) or len(self._coming[: 1 + self._trust]) > 1

    def child_of(self, path: Path) -> Child | None:
        return self._asked[path][1] if path in self._asked else None

    def pending(self, child: Child) -> int:
        return sum(asked is child for _, asked in self._asked.values())

    def answered(self, path: Path) -> None:
        del self._asked[path]

    def forget(self, children: Iterable[Child]) -> None:
        """All that these were asked for; it is asked for again when it is due."""
        gone = set(children)
        self._asked = {
            file: (stamp, child)
            for file, (stamp, child) in self._asked.items()
            if child not in gone
        }


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _stamp(path: Path) -> Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # reported when it is opened
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
