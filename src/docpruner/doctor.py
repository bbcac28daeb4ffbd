"""What this installation can do, and what to run to make it do more."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from docpruner.maxsim import kernels


@dataclass(frozen=True)
class Finding:
    """One fact; `remedy` is what to run if it could be better."""

    what: str
    found: str
    why: str = ""
    remedy: str = ""


def examine() -> list[Finding]:
    """Everything worth knowing about this installation, most important first."""
    return [
        Finding("docpruner", version("docpruner")),
        _kernel(),
        Finding("cores", str(os.cpu_count())),
        Finding("python", platform.python_version(), why=platform.platform()),
        Finding("numpy", _installed("numpy") or "missing"),
    ]


def _kernel() -> Finding:
    found = kernels()
    remedy = ""
    if found.names[0] == "numpy":
        remedy = "install a C compiler, then: pip install --force-reinstall --no-deps docpruner"
    return Finding("MaxSim kernel", found.names[0], found.reason, remedy)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
