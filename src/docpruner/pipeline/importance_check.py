"""Whether a reduction has what it goes by."""

from __future__ import annotations

from dataclasses import replace

from docpruner.encoders.model_options import gives_centrality, gives_importance
from docpruner.encoders.registry import Encoder, EncoderName
from docpruner.errors import EncoderError
from docpruner.reduce import STRATEGIES, Reducer


def named_for(encoder: str, reduce: Reducer) -> str:
    """The name to load an encoder by, so that its pages have the signal `reduce` goes by."""
    if reduce.signal == "global-token":
        return encoder
    name = EncoderName.read(encoder)
    if name.is_endpoint or name.reads == "words":  # which have no layers to listen to
        return encoder
    return str(replace(name, importance="both"))


def require_importance(encoder: Encoder, reduce: Reducer) -> None:
    """EncoderError if `reduce` goes by an importance that the pages of `encoder` don't have."""
    if reduce.sees_importance and not gives_importance(encoder):
        others = [name for name, each in STRATEGIES.items() if not each.sees_importance]
        raise EncoderError(
            f"{encoder.name} gives vectors but no attention, so {reduce} has no importance to go "
            f"by; choose from {', '.join(others)}, or encode with the model itself"
        )
    if reduce.signal == "centrality" and not gives_centrality(encoder):
        raise EncoderError(
            f"{reduce} goes by centrality, which {encoder.name} does not give; load a vision-"
            'language model with importance="both"'
        )
