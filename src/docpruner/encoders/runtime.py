"""Device, precision and batches: how a model is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from docpruner.errors import EncoderError

Item = TypeVar("Item")
Result = TypeVar("Result")

OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")


def best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str, wanted: str | None = None) -> torch.dtype:
    """bfloat16 where the device has it; a CPU gets float32, since it has no fast bfloat16."""
    if wanted is not None:
        chosen = getattr(torch, wanted, None)
        if not isinstance(chosen, torch.dtype):
            raise EncoderError(f"no dtype {wanted!r}; try float32, bfloat16 or float16")
        return chosen
    if device.startswith("cuda"):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.float32 if device == "cpu" else torch.bfloat16


def default_batch_size(device: str) -> int:
    """Pages that are encoded together; a CPU gains nothing from more than one."""
    return 1 if device == "cpu" else 4


def in_batches(
    items: Sequence[Item], size: int, run: Callable[[Sequence[Item]], list[Result]]
) -> list[Result]:
    """`run` over `items`, `size` at a time; out of memory, half as many, said once."""
    results: list[Result] = []
    warned = False
    while len(results) < len(items):
        batch = items[len(results) : len(results) + size]
        try:
            results += run(batch)
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if len(batch) == 1 or not _is_out_of_memory(error):
                raise
            size = len(batch) // 2
            torch.cuda.empty_cache()
            if not warned:
                warnings.warn(
                    f"out of memory at a batch of {len(batch)}; going on with {size}",
                    RuntimeWarning,
                    stacklevel=3,
                )
            warned = True
    return results


def _is_out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in OUT_OF_MEMORY)
