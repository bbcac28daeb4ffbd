"""How many cores there are to work with, and threads for all of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

CGROUPS, OWN_GROUPS = "/sys/fs/cgroup", "/proc/self/cgroup"

Task = TypeVar("Task")
Result = TypeVar("Result")


def on_all_cores(work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Short tasks of a search on threads that all searches of this process share, so that ten at
    once take turns instead of getting in each other's way. A task must not call this itself."""
    return list(_threads(usable_cores()).map(work, tasks))


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "search")


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_threads.cache_clear)  # whose threads are the parent's


def usable_cores() -> int:
    """The cores this process may use, which in a container are fewer than the machine has.

    `OMP_NUM_THREADS` is kept to, as by other libraries: Ray says by it how many are a worker's.
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = cpu_quota()
    if quota is not None:
        cores = max(1, min(cores, math.ceil(quota)))
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return min(cores, int(told)) if told.isdecimal() and int(told) else cores


@cache
def cpu_quota(cgroups: str = CGROUPS, own_groups: str = OWN_GROUPS) -> float | None:
    """How many cores' worth of time Linux leaves this process, if it says; `docker run --cpus 2`
    gives two cores' worth of time on all cores there are."""
    quotas = []
    for group in _groups(Path(cgroups), Path(own_groups)):
        limit, *rest = _words(group / "cpu.max") or ["max"]  # version 2
        period = rest[0] if rest else "0"
        if limit == "max":  # version 1
            limit = "".join(_words(group / "cpu.cfs_quota_us"))
            period = "".join(_words(group / "cpu.cfs_period_us"))
        if limit.isdigit() and period.isdigit() and int(limit) and int(period):
            quotas.append(int(limit) / int(period))
    return min(quotas, default=None)


def _groups(cgroups: Path, own_groups: Path) -> Iterator[Path]:
    """The control groups that this process is in, each with those around it.

    In a container they may be seen from inside, where its own is the outermost.
    """
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in (cgroups / controllers, cgroups / "cpu") if controllers else (cgroups,):
            group = root / path.lstrip("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(root))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
