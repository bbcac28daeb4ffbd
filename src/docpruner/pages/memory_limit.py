"""How much memory the child of a `PageReader` may take, and what stops it there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

from docpruner.cores import usable_cores

LEAST, MOST = 512 << 20, 4 << 30
FOR_OCR = 1 << 30  # what recognising words takes by itself
EXIT_CODE = 77  # of a child that needed more
INTERVAL = 0.1  # seconds between two looks at its size
STATM = Path("/proc/self/statm")


def default_limit(*, ocr: bool) -> int:
    """A quarter of the machine's memory, within bounds, and with `ocr` what that needs."""
    return max(LEAST, min(MOST, machine_memory() // 4)) + (FOR_OCR if ocr else 0)


def most_recognisers() -> int:
    """Children that may recognise words at once: one for each core, in a quarter of the memory."""
    return max(1, min(usable_cores(), machine_memory() // 4 // FOR_OCR))


def machine_memory() -> int:
    """Bytes that the machine has, or that the container is allowed."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):  # not on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError):
        groups = Path("/proc/self/cgroup").read_text()
        limits.extend(cgroup_limits(groups, Path("/sys/fs/cgroup")))
    return min(limits, default=2 * MOST)


def cgroup_limits(groups: str, root: Path) -> Iterator[int]:
    """The limits of the `groups` of /proc/self/cgroup and of all above them, version 1 and 2."""
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers:
            top, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        folder = top / group.lstrip("/")
        for above in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # ValueError: "max"
                yield int((above / name).read_text())


def readable_size(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MB"


def limit_own_memory(limit: int, *, ocr: bool) -> None:
    """End this process when it, or a program it runs, takes more than `limit` bytes of memory.

    Where there is no /proc, its address space is limited instead, and that of such a program; but
    not with `ocr` by rapidocr, for onnxruntime reserves far more than it uses.
    """
    if STATM.exists():
        Thread(target=_watch, args=(limit,), daemon=True).start()
    elif not ocr:
        _limit_address_space(limit)


def _watch(limit: int) -> None:
    pages = limit // os.sysconf("SC_PAGE_SIZE")
    try:
        while max(_resident(STATM), _resident_of_programs()) <= pages:
            time.sleep(INTERVAL)
    finally:  # also when there is no memory left to look
        os._exit(EXIT_CODE)


def _resident(statm: Path) -> int:
    return int(statm.read_bytes().split()[1])


def _resident_of_programs() -> int:
    """Of the largest that the main thread of this process runs."""
    largest = 0
    with suppress(OSError):  # it has ended just now
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            largest = max(largest, _resident(Path(f"/proc/{child}/statm")))
    return largest


def _limit_address_space(limit: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
