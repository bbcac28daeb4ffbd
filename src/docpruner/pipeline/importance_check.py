"""Whether a reduction has what it goes by."""

from __future__ import annotations

from docpruner.encoders.model_options import gives_importance
from docpruner.encoders.registry import Encoder
from docpruner.errors import EncoderError
from docpruner.reduce import STRATEGIES, Reducer


def require_importance(encoder: Encoder, reduce: Reducer) -> None:
    """EncoderError if `reduce` goes by importance and the pages of `encoder` have none."""
    if reduce.sees_importance and not gives_importance(encoder):
        others = [name for name, each in STRATEGIES.items() if not each.sees_importance]
        raise EncoderError(
            f"{encoder.name} gives vectors but no attention, so {reduce} has no importance to go "
            f"by; choose from {', '.join(others)}, or encode with the model itself"
        )
