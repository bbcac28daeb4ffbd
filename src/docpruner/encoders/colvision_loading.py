"""Checkpoints and adapters of the ColVision families, loaded through the classes of their library.

Nothing is loaded silently wrong: transformers fills what a file lacks with random numbers and tells
of it in the log, of an adapter's base not even there.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any

import torch
from torch import nn

from docpruner.encoders.checkpoint import Checkpoint, ModelFiles, Shape, with_weights
from docpruner.encoders.colvision import ColVisionEncoder
from docpruner.encoders.encoder_name import Attention, EncoderName
from docpruner.encoders.families import Family, family_of, query_form
from docpruner.encoders.runtime import best_attention, best_device, best_dtype
from docpruner.encoders.visual_tokens import limit_visual_tokens
from docpruner.errors import EncoderError, MissingExtraError

PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")


class NoProjectionError(EncoderError):
    """The weights are those of a plain vision-language model."""


def load_colvision(
    name: EncoderName,
    files: ModelFiles,
    *,
    device: str | None,
    dtype: str | None,
    batch_size: int | None,
    attention: Attention | None = None,
) -> ColVisionEncoder:
    """Load a checkpoint or a LoRA adapter."""
    family = family_of(files.config, files.base.name)
    form = query_form(family, name.query_prefix, name.query_tokens)
    if importlib.util.find_spec(family.library.partition(".")[0]) is None:
        raise MissingExtraError(f"the encoder {name}", "vlm")
    base = with_weights(files.base)
    checkpoint = with_weights(files.checkpoint) if files.is_adapter else base
    chosen = device or best_device()
    precision = best_dtype(chosen, dtype)
    try:
        kernels = best_attention(chosen, precision, attention)
        model = _load_base(family, base, chosen, precision, kernels)
        if files.is_adapter:
            _adapt(model, checkpoint, precision)
        processor = _load_processor(family, checkpoint, base)
        limit_visual_tokens(processor, family, name.max_visual_tokens)
    except OSError as error:
        raise EncoderError(f"{name.checkpoint} can't be loaded: {error}") from error
    full_name = replace(
        _without_defaults(name, family),
        revision=checkpoint.commit,
        base=base.commit if files.is_adapter else None,
        dtype=str(precision).removeprefix("torch."),  # type: ignore[arg-type]
    )
    return ColVisionEncoder(
        model,
        processor,
        name=str(full_name),
        batch_size=batch_size,
        prompt=name.prompt,
        importance=name.importance,
        query=form,
    )


def _load_base(
    family: Family, base: Checkpoint, device: str, dtype: torch.dtype, kernels: dict[str, str]
) -> Any:
    model_class = getattr(import_module(family.library), family.model)
    width = _projection_width(base, family)
    if width is not None:
        model_class = _as_wide_as(model_class, family.projection, width)
    model, report = model_class.from_pretrained(
        base.folder,
        dtype=dtype,
        device_map=device,
        output_loading_info=True,
        **kernels,
        ignore_mismatched_sizes=True,  # reported, with names, instead of a bare RuntimeError
    )
    _require_all(base.name, family.model, report["missing_keys"], report["mismatched_keys"])
    return model


def _adapt(model: Any, adapter: Checkpoint, dtype: torch.dtype) -> None:
    """Put an adapter on a model, its weights renamed as those of the model are."""
    from transformers.conversion_mapping import get_model_conversion_mapping  # transformers 5

    renamed = getattr(type(model), "_checkpoint_conversion_mapping", None)
    report = model.load_adapter(
        str(adapter.folder),
        dtype=dtype,
        weight_mapping=get_model_conversion_mapping(model, renamed),
        ignore_mismatched_sizes=True,
    )
    what = f"the adapter of {type(model).__name__}"
    _require_all(adapter.name, what, report.missing_keys, report.mismatched_keys)
    if report.unexpected_keys:
        raise EncoderError(
            f"{adapter.name} has {len(report.unexpected_keys)} weights that {what} has no place "
            f"for, such as {min(report.unexpected_keys)}: is it an adapter of another model?"
        )
    updates = [weight for key, weight in model.named_parameters() if "lora_B" in key]
    if updates and not any(weight.any() for weight in updates):
        raise EncoderError(
            f"{adapter.name} changes nothing: its lora_B weights are all zero, as before training"
        )


def _require_all(
    name: str, model: str, missing: Iterable[str], mismatched: Iterable[tuple[str, Shape, Shape]]
) -> None:
    lacking = sorted(missing)
    if lacking:
        raise EncoderError(
            f"{name} lacks {len(lacking)} weights of {model}, which would be random: "
            f"{', '.join(lacking[:3])}{' …' if len(lacking) > 3 else ''}"
        )
    for key, there, expected in sorted(mismatched):
        raise EncoderError(
            f"{name}: the weight {key} is {_by(there)}, but {model} of this configuration has "
            f"{_by(expected)}: the files are not of one model"
        )


def _by(shape: Shape) -> str:
    return " × ".join(map(str, shape))


def _load_processor(family: Family, checkpoint: Checkpoint, base: Checkpoint) -> Any:
    """That of the checkpoint; adapters that bring none have that of their base."""
    processor_class = getattr(import_module(family.library), family.processor)
    where = checkpoint if checkpoint.has(*PROCESSOR_FILES) else base
    return processor_class.from_pretrained(where.folder)


def _projection_width(base: Checkpoint, family: Family) -> int | None:
    """How many dimensions the checkpoint's vectors have; None if its files don't say.

    A plain vision-language model has the same configuration as a retriever built on it, and would
    load with a random projection.
    """
    tensors = base.tensors()
    for tensor, shape in tensors.items():
        if f".{tensor}".endswith(f".{family.projection}.weight"):
            return shape[0]
    if tensors and not any(f"{family.projection}." in tensor for tensor in tensors):
        raise NoProjectionError(
            f"{base.name} has no weights for {family.projection}: it is not a {family.model} "
            "retriever but a model one could be trained from"
        )
    return None


def _as_wide_as(model_class: Any, projection: str, width: int) -> Any:
    """The class with a projection of this width; most have theirs written into the code."""

    def make(self: Any, *given: Any, **named: Any) -> None:
        model_class.__init__(self, *given, **named)
        own = getattr(self, projection)
        if own.out_features != width:
            wide = nn.Linear(own.in_features, width, bias=own.bias is not None)
            setattr(self, projection, wide)
            self.dim = width

    same = {"__module__": model_class.__module__, "__qualname__": model_class.__qualname__}
    return type(model_class.__name__, (model_class,), {**same, "__init__": make})


def _without_defaults(name: EncoderName, family: Family) -> EncoderName:
    """The form of queries stands in a name only where it is not the family's own."""
    if family.query is None:
        return name
    prefix = None if name.query_prefix == family.query.prefix else name.query_prefix
    tokens = None if name.query_tokens == family.query.tokens else name.query_tokens
    return replace(name, query_prefix=prefix, query_tokens=tokens)
