"""Device, precision and batches: how a model is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TypeVar

import torch
from torch import Tensor

from docpruner.encoders.encoder_name import Attention
from docpruner.errors import EncoderError

Item = TypeVar("Item")
Result = TypeVar("Result")

KERNELS = {"sdpa": "sdpa", "flash": "flash_attention_2", "eager": "eager"}
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")
LARGEST_BATCH = 64
FILLED = 0.85  # of the device's memory


def best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str, wanted: str | None = None) -> torch.dtype:
    """bfloat16 where the device has it; a CPU gets float32, since it has no fast bfloat16.

    A GPU that would only emulate it, such as a T4, gets float16.
    """
    if wanted is not None:
        chosen = getattr(torch, wanted, None)
        if not isinstance(chosen, torch.dtype):
            raise EncoderError(f"no dtype {wanted!r}; try float32, bfloat16 or float16")
        return chosen
    if device.startswith("cuda"):
        real = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if real else torch.float16
    return torch.float32 if device == "cpu" else torch.bfloat16


def best_attention(
    device: str, dtype: torch.dtype, wanted: Attention | None = None
) -> dict[str, str]:
    """How `from_pretrained` is told which kernels to use; nothing leaves it to the model.

    Flash attention is taken where it is installed. Qwen's vision tower gains most: with it a batch
    is one call for all windows of all pages, with sdpa one for each window.
    """
    if wanted is None:
        return {"attn_implementation": KERNELS["flash"]} if _has_flash(device, dtype) else {}
    if wanted not in KERNELS:
        raise EncoderError(f"no attention {wanted!r}; give sdpa, flash or eager")
    if wanted == "flash" and not _has_flash(device, dtype):
        raise EncoderError(
            f"flash attention needs a CUDA device, float16 or bfloat16 (here: {device}, "
            f"{str(dtype).removeprefix('torch.')}) and flash-attn: pip install flash-attn "
            "--no-build-isolation"
        )
    return {"attn_implementation": KERNELS[wanted]}


def _has_flash(device: str, dtype: torch.dtype) -> bool:
    half = dtype in (torch.float16, torch.bfloat16)
    return device.startswith("cuda") and half and find_spec("flash_attn") is not None


class BatchSize:
    """How many pages are encoded together: as many as fit, as far as is known by now.

    A size that was given is kept, as long as it fits. Otherwise it begins with 4 on a GPU and
    doubles while twice as much would fit into its memory. After an out-of-memory it is half of what
    didn't fit, for good. A CPU gains nothing from more than one.
    """

    def __init__(self, device: str, given: int | None = None) -> None:
        self._device = device
        self._grows = given is None and device.startswith("cuda")
        self._before = 0  # bytes, while nothing runs
        self._warned = False
        self.now = given or (1 if device == "cpu" else 4)

    def began(self) -> None:
        if self._grows:
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)

    def passed(self, count: int) -> None:
        """A batch of `count` went through."""
        if self._grows and count >= self.now:
            peak = torch.cuda.max_memory_allocated(self._device)
            total = torch.cuda.get_device_properties(self._device).total_memory
            self.grow(count, self._before, peak, total)

    def grow(self, count: int, before: int, peak: int, total: int) -> None:
        """To twice as many, if what a batch took on top of `before` fits twice (in bytes)."""
        if before + 2 * (peak - before) <= FILLED * total:
            self.now = min(2 * count, LARGEST_BATCH)

    def failed(self, count: int) -> None:
        """A batch of `count` was too much."""
        self.now, self._grows = max(1, min(self.now, count // 2)), False
        torch.cuda.empty_cache()
        if not self._warned:
            warnings.warn(
                f"out of memory at a batch of {count}; going on with {self.now}",
                RuntimeWarning,
                stacklevel=4,
            )
        self._warned = True


def in_batches(
    items: Sequence[Item], size: BatchSize, run: Callable[[Sequence[Item]], list[Result]]
) -> list[Result]:
    """`run` over `items`, as many at a time as fit."""
    results: list[Result] = []
    while len(results) < len(items):
        batch = items[len(results) : len(results) + size.now]
        try:
            size.began()
            results += run(batch)
            size.passed(len(batch))
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if len(batch) == 1 or not is_out_of_memory(error):
                raise
            size.failed(len(batch))
    return results


def is_out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in OUT_OF_MEMORY)


def copy_back(made: Tensor) -> Callable[[], Tensor]:
    """Begin to copy what a device has made; calling the result waits for it.

    From a GPU it goes to pinned memory, beside the work that the GPU has next.
    """
    if made.device.type != "cuda":
        here = made.cpu()
        return lambda: here
    target = torch.empty(made.shape, dtype=made.dtype, pin_memory=True)
    target.copy_(made, non_blocking=True)
    copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    copied.record(torch.cuda.current_stream(made.device))

    def wait() -> Tensor:
        copied.synchronize()
        return target

    return wait
