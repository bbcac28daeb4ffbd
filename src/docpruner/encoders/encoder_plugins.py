"""Encoders of other packages, by entry point: `name = "module:factory"`.

The factory gets the full name that was asked for and returns an `Encoder`, whose own `name` begins
with the entry point's: an index remembers it, and opens with it again.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from docpruner.errors import EncoderError

if TYPE_CHECKING:
    from docpruner.encoders.registry import Encoder

GROUP = "docpruner.encoders"


def plugin_names() -> list[str]:
    return sorted({point.name for point in entry_points(group=GROUP)})


def factory(checkpoint: str) -> Callable[[str], Encoder] | None:
    """The factory that brings encoders of this name; None if nobody does."""
    for point in entry_points(group=GROUP, name=checkpoint):
        loaded: Callable[[str], Encoder] = point.load()
        return loaded
    return None


def load_plugin(name: str, checkpoint: str) -> Encoder | None:
    make = factory(checkpoint)
    if make is None:
        return None
    encoder = make(name)
    first = encoder.name.partition(":")[0].partition("@")[0]
    if first != checkpoint:
        raise EncoderError(
            f"the encoder {name!r} calls itself {encoder.name!r}: its name has to begin with "
            f"{checkpoint!r}, or an index made with it could not be opened again"
        )
    return encoder
