"""Checkpoints and adapters of the ColVision families, loaded through colpali-engine's classes."""

from __future__ import annotations

from dataclasses import replace

from docpruner.encoders.checkpoint import base_and_config, tensor_names
from docpruner.encoders.colvision import ColVisionEncoder
from docpruner.encoders.encoder_name import EncoderName
from docpruner.encoders.families import Family, family_of, query_form
from docpruner.encoders.runtime import best_device, best_dtype, default_batch_size
from docpruner.errors import EncoderError


def load_colvision(
    name: EncoderName, *, device: str | None, dtype: str | None, batch_size: int | None
) -> ColVisionEncoder:
    """Load a checkpoint or a LoRA adapter through colpali-engine's own classes."""
    checkpoint, revision = name.checkpoint, name.revision
    base, config = base_and_config(checkpoint, revision)
    family = family_of(config, base)
    form = query_form(family, name.query_prefix, name.query_tokens)
    _require_projection(base, family, revision if base == checkpoint else None)
    from colpali_engine import models

    chosen = device or best_device()
    model_class, processor_class = getattr(models, family.model), getattr(models, family.processor)
    try:
        model, report = model_class.from_pretrained(
            checkpoint,
            revision=revision,
            dtype=best_dtype(chosen, dtype),
            device_map=chosen,
            output_loading_info=True,
        )
        processor = processor_class.from_pretrained(checkpoint, revision=revision)
    except OSError as error:
        raise EncoderError(f"{checkpoint} can't be loaded: {error}") from error
    if report["missing_keys"]:
        shown = ", ".join(sorted(report["missing_keys"])[:3])
        raise EncoderError(
            f"{checkpoint} lacks {len(report['missing_keys'])} weights of {family.model}, which "
            f"would be random: {shown}…"
        )
    return ColVisionEncoder(
        model,
        processor,
        name=str(_without_defaults(name, family)),
        batch_size=batch_size or default_batch_size(chosen),
        prompt=name.prompt,
        importance=name.importance,
        query=form,
    )


def _without_defaults(name: EncoderName, family: Family) -> EncoderName:
    """The form of queries stands in a name only where it is not the family's own."""
    if family.query is None:
        return name
    prefix = None if name.query_prefix == family.query.prefix else name.query_prefix
    tokens = None if name.query_tokens == family.query.tokens else name.query_tokens
    return replace(name, query_prefix=prefix, query_tokens=tokens)


def _require_projection(base: str, family: Family, revision: str | None) -> None:
    """A plain vision-language model has the same configuration as a retriever built on it, and
    would load with a random projection and no more than a line in the log."""
    found = tensor_names(base, revision)
    if found and not any(f"{family.projection}." in tensor for tensor in found):
        raise EncoderError(
            f"{base} has no weights for {family.projection}: it is not a {family.model} retriever "
            "but a model one could be trained from"
        )
