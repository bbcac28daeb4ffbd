"""Importance from one plain forward pass.

The paper reads attention with `output_attentions=True`, which forces eager kernels, keeps every
layer's full matrix and costs 60-66 % more time. One row of one layer is all it needs:

    with importance_tap(model) as tap:
        embeddings = model(**batch)
    tap.importance      # (batch, length)

Embeddings are bit-identical with and without, whatever the kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from docpruner.encoders.global_attention import AttentionCall, listening
from docpruner.errors import TapError

ROWS_AT_ONCE = 64  # attention rows held at a time when centrality needs them all


class ImportanceTap:
    """What a forward pass under `importance_tap` or `centrality_tap` found."""

    def __init__(self) -> None:
        self._importance: Tensor | None = None

    @property
    def importance(self) -> Tensor:
        """Importance of every position, (batch, length), float32, of the latest forward pass."""
        if self._importance is None:
            raise TapError("no importance yet: run the model inside the `with` block first")
        return self._importance


@contextmanager
def importance_tap(
    model: nn.Module,
    *,
    layer: int | None = None,
    global_token: int = -1,
    attention_mask: Tensor | None = None,
) -> Iterator[ImportanceTap]:
    """Read the attention that the global token pays to every position.

    `layer` counts the decoder's layers from 0, or from the end if negative; by default the last one
    with full attention, as the paper has it (sliding windows and linear attention don't see the
    whole page). `global_token` counts the real tokens of each item, so it means the same with left
    padding, right padding and none: -1 is the end-of-sequence token, 0 a [CLS]. Which tokens are
    real is read off the `attention_mask` that the model is called with; pass it here if it is
    `model.forward` that is called, which no hook sees. A tap hears the thread that opened it only.
    """
    tap = ImportanceTap()
    batch_mask, called = attention_mask, attention_mask is not None
    thread = threading.get_ident()

    def before(_: nn.Module, __: Any, named: dict[str, Any]) -> None:
        nonlocal batch_mask, called
        if threading.get_ident() == thread:
            batch_mask, called = named.get("attention_mask", attention_mask), True

    @torch.no_grad()
    def read(call: AttentionCall) -> None:
        if not called:
            raise TapError(
                "which tokens are padding is unknown, as only a part of the model was called, or "
                "its `forward`; pass attention_mask to importance_tap"
            )
        real = batch_mask
        if real is None:
            real = torch.ones(call.query.shape[0], call.query.shape[2], device=call.query.device)
        tap._importance = call.rows(_position(real, global_token))[:, 0]

    with ExitStack() as stack:
        for entry in _entries(model):
            stack.enter_context(entry.register_forward_pre_hook(before, with_kwargs=True))
        stack.enter_context(listening([_layer(attention_layers(model), layer)], read))
        yield tap


@contextmanager
def centrality_tap(
    model: nn.Module, patches: Tensor, *, layers: Sequence[int] | None = None
) -> Iterator[ImportanceTap]:
    """Read how much attention every position gets from the patches, in the middle of the model.

    Structural anchor pruning: in-degree over the rows where `patches` (batch, length) is true, mean
    over rows and heads, averaged over `layers`; by default those at 40-60 % of the depth. Rows are
    taken a few at a time: no matrix of all rows and heads is ever held.
    """
    found = attention_layers(model)
    chosen = _middle(found) if layers is None else [_layer(found, index) for index in layers]
    tap = ImportanceTap()
    sums: list[Tensor] = []

    @torch.no_grad()
    def read(call: AttentionCall) -> None:
        sums.append(_in_degree(call, patches.to(call.query.device).bool()))
        if len(sums) == len(chosen):
            tap._importance = torch.stack(sums).mean(0)
            sums.clear()

    first = sorted(chosen, key=_index)[:1]  # a pass that failed half-way leaves sums behind
    with listening(first, lambda _: sums.clear()), listening(chosen, read):
        yield tap


def _in_degree(call: AttentionCall, patches: Tensor) -> Tensor:
    """Mean over the patch rows of each item of the attention they pay, (batch, length)."""
    order = patches.int().argsort(dim=1, descending=True, stable=True)  # patch rows first
    counts = patches.sum(1)
    total = torch.zeros(patches.shape[0], call.key.shape[2], device=call.key.device)
    for start in range(0, int(counts.max()), ROWS_AT_ONCE):
        rows = order[:, start : start + ROWS_AT_ONCE]
        wanted = start + torch.arange(rows.shape[1], device=rows.device) < counts[:, None]
        total += (call.rows(rows) * wanted[:, :, None]).sum(1)
    return total / counts[:, None].clamp(min=1)


def _entries(model: Any) -> set[nn.Module]:
    """Where a forward pass may begin: Jina v4's `encode_image` calls what PEFT has wrapped."""
    return {model, model.get_base_model()} if hasattr(model, "get_base_model") else {model}


def attention_layers(model: Any) -> list[nn.Module]:
    """The decoder's attention layers that can be tapped, first to last; not the vision tower's."""
    config: Any = getattr(model, "config", None)
    text_config = config.get_text_config() if hasattr(config, "get_text_config") else None
    found = [
        module
        for module in model.modules()
        if text_config is not None
        and getattr(module, "config", None) is text_config
        and isinstance(getattr(module, "layer_idx", None), int)
        and any(hasattr(module, name) for name in ("q_proj", "Wqkv"))
    ]
    if not found:
        raise TapError(
            f"{type(model).__name__} has no attention layers of a decoder to read: none with a "
            "layer_idx and projections among its modules"
        )
    return sorted(found, key=_index)


def _index(layer: Any) -> int:
    return int(layer.layer_idx)


def _middle(found: list[Any]) -> list[nn.Module]:
    """The layers at 40-60 % of the depth; if none of them has attention, the nearest that has."""
    depth = found[-1].config.num_hidden_layers
    inside = [layer for layer in found if int(0.4 * depth) <= layer.layer_idx <= int(0.6 * depth)]
    return inside or [min(found, key=lambda layer: abs(layer.layer_idx - depth // 2))]


def _layer(found: list[Any], index: int | None) -> nn.Module:
    if index is None:
        full = [layer for layer in found if getattr(layer, "sliding_window", None) is None]
        last: nn.Module = (full or found)[-1]
        return last
    numbers = [layer.layer_idx for layer in found]
    depth = found[-1].config.num_hidden_layers
    wanted = index + depth if index < 0 else index
    if wanted not in numbers:
        shown = ", ".join(map(str, numbers))
        raise TapError(f"layer {index} has no attention to read; layers that have: {shown}")
    layer: nn.Module = found[numbers.index(wanted)]
    return layer


def _position(real: Tensor, global_token: int) -> Tensor:
    """Where in each row the wanted real token stands, (batch, 1).

    Every row has a first and a last; only for the others is it worth waiting for a GPU to tell.
    """
    real = real.bool()
    rank = real.cumsum(1)  # 1 for the first real token
    needed = global_token + 1 if global_token >= 0 else -global_token
    if needed > 1 and bool((rank[:, -1] < needed).any()):
        raise TapError(f"global_token {global_token}: a page has only {rank[:, -1].min()} tokens")
    wanted = global_token + 1 + (rank[:, -1:] if global_token < 0 else 0)
    return ((rank == wanted) & real).int().argmax(1, keepdim=True)
