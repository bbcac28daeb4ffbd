"""Numbers as they are read."""

from __future__ import annotations

import math

NBSP = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
UNITS = ("B", "kB", "MB", "GB", "TB")


def percent(share: float | None, digits: int = 1) -> str:
    if share is None or not math.isfinite(share):
        return "–"
    return f"{share * 100:.{digits}f}{NBSP}%"


def change(share: float, digits: int = 1) -> str:
    """Of something by a share of it: `−2.1 %`; never `−0.0 %`."""
    rounded = round(share * 100, digits) + 0.0
    return f"{rounded:+.{digits}f}{NBSP}%".replace("-", MINUS)


def signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", MINUS)


def size(count: float) -> str:
    """Bytes, in steps of a thousand, to three digits."""
    unit = 0
    while count >= 999.5 and unit < len(UNITS) - 1:
        count, unit = count / 1000, unit + 1
    digits = 0 if not unit or count >= 99.95 else 1 if count >= 9.995 else 2
    return f"{count:.{digits}f}{NBSP}{UNITS[unit]}"


def chance(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"<{NBSP}0.001"


def chance_said(p: float) -> str:
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def milliseconds(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def seconds(value: float) -> str:
    """A short time."""
    return f"{value:.{2 if abs(value) >= 0.1 else 4}f}{NBSP}s".replace("-", MINUS)


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f}{NBSP}s"
    if seconds < 3600:
        return f"{seconds / 60:.0f}{NBSP}min"
    return f"{seconds / 3600:.1f}{NBSP}h"
