"""Encoding in two steps, for encoders that can: the processor's work, and the device's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from docpruner.types import Page, PageEmbedding

if TYPE_CHECKING:
    from PIL.Image import Image

Pending = Callable[[], list[PageEmbedding]]
"""Waits for the device, and gives what it has made."""


@runtime_checkable
class EncodesInSteps(Protocol):
    """An encoder that prepares pages in one thread while its device is busy in another.

    `encoder.run(encoder.prepare(pages))()` is `encoder.encode_pages(pages)`.
    """

    @property
    def batch_size(self) -> int:
        """How many pages at once are best, as far as it knows by now."""
        ...

    def prepare(self, pages: Sequence[Page | Image]) -> Any:
        """What the processor has to do; the device is not asked for anything."""
        ...

    def run(self, prepared: Any) -> Pending:
        """What the device has to do; returns when it has got its work, which may be before it is
        done."""
        ...
