"""Listening to attention layers: what one layer was asked, and rows of its attention on demand.

A Hugging Face attention layer looks its kernel up by name at every call, and calls it with rotated
queries and keys. While someone listens, that look-up returns the same kernel with an ear: the layer
runs as it always does, and the listener gets the same tensors. Nothing in the model is touched.

Layers with attention code of their own (Jina v4's) never ask. For them hooks pick up what the
layer's query and key projections gave, and its own rotary function is applied to that once more.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import AttentionInterface

from docpruner.errors import TapError


@dataclass(frozen=True)
class AttentionCall:
    """What one attention layer was asked in one forward pass."""

    query: Tensor  # (batch, heads, length, head_dim), rotated
    key: Tensor  # (batch, key_value_heads, length, head_dim), rotated
    mask: Tensor | None  # 4-D as for sdpa and eager, 2-D padding as for flash kernels, or none
    scaling: float
    causal: bool
    window: int | None  # a key further away than this is not seen
    softcap: float | None

    def rows(self, positions: Tensor) -> Tensor:
        """Attention paid from `positions` (batch, rows), mean over heads: (batch, rows, length).

        In float32, whatever the model computes in. Only these rows are ever held.
        """
        with torch.autocast(self.query.device.type, enabled=False):
            return self._rows(positions)

    def _rows(self, positions: Tensor) -> Tensor:
        batch, heads, _, size = self.query.shape
        groups = self.key.shape[1]  # of query heads that share a key head
        positions = positions.to(self.query.device)
        chosen = positions[:, None, :, None].expand(-1, heads, -1, size)
        query = self.query.gather(2, chosen).float()  # (batch, heads, rows, head_dim)
        query = query.view(batch, groups, heads // groups, -1, size)
        scores = torch.einsum("bghrd,bgld->bghrl", query, self.key.float()) * self.scaling
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        scores = self._masked(scores, positions)
        return scores.softmax(-1).nan_to_num(0).mean(dim=(1, 2))  # NaN: a row that sees nothing

    def _masked(self, scores: Tensor, positions: Tensor) -> Tensor:
        """`scores` (batch, groups, heads, rows, length) with what a row doesn't see at -inf."""
        length = scores.shape[-1]
        if self.mask is not None and self.mask.ndim == 4:
            index = positions[:, None, :, None].expand(-1, self.mask.shape[1], -1, length)
            mask = self.mask[..., :length].expand(len(positions), -1, self.query.shape[2], -1)
            mask = mask.gather(2, index)
            mask = mask.view(len(positions), -1, 1, *mask.shape[2:])  # a mask has one head
            if mask.dtype == torch.bool:
                return scores.masked_fill(~mask, -torch.inf)
            return scores + mask.float()
        row = positions[:, :, None]
        column = torch.arange(length, device=scores.device)
        seen = torch.ones_like(row + column, dtype=torch.bool)
        if self.mask is not None:
            seen &= self.mask[:, None, :length].bool()
        if self.causal:
            seen &= column <= row
        if self.window is not None:
            seen &= (row - column).abs() < self.window
        return scores.masked_fill(~seen[:, None, None], -torch.inf)


Listener = Callable[[AttentionCall], None]

_PROJECTIONS = ("q_proj", "k_proj")
_plain_look_up: Any = getattr(AttentionInterface, "get_interface", None)  # none in transformers 4
_listeners: dict[nn.Module, list[Listener]] = {}
_changing = threading.Lock()


@contextmanager
def listening(layers: Iterable[nn.Module], listener: Listener) -> Iterator[None]:
    """Hand every attention call of `layers` to `listener`."""
    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(_listening_to(layer, listener))
        yield


@contextmanager
def _listening_to(layer: nn.Module, listener: Listener) -> Iterator[None]:
    ear = _Ear(listener)
    hooks = [layer.register_forward_hook(ear.after, with_kwargs=True)]
    for name in _PROJECTIONS:
        if hasattr(layer, name):
            projection = layer.get_submodule(name)
            hooks.append(projection.register_forward_hook(partial(ear.projected, name)))
    with _changing:
        _listeners.setdefault(layer, []).append(ear.hear)
        if _plain_look_up is not None:
            AttentionInterface.get_interface = _look_up  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        with _changing:
            _listeners[layer].remove(ear.hear)
            if not _listeners[layer]:
                del _listeners[layer]
            if not _listeners and _plain_look_up is not None:
                AttentionInterface.get_interface = _plain_look_up  # type: ignore[method-assign]


class _Ear:
    """Waits at one layer for its call: by the look-up or, failing that, by its projections."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._heard = False
        self._projections: dict[str, Tensor] = {}
        self._thread = threading.get_ident()  # other threads may run the same model meanwhile

    def hear(self, call: AttentionCall) -> None:
        if threading.get_ident() != self._thread:
            return
        self._heard = True
        self._listener(call)

    def projected(self, name: str, _: nn.Module, __: Any, output: Tensor) -> None:
        if threading.get_ident() == self._thread:
            self._projections[name] = output

    def after(self, layer: nn.Module, given: Any, named: dict[str, Any], _: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        projections, self._projections = self._projections, {}
        heard, self._heard = self._heard, False
        if not heard:
            self._listener(_from_projections(layer, projections, given, named))


def _look_up(interface: AttentionInterface, name: str, default: Callable[..., Any]) -> Any:
    return partial(_attend, _plain_look_up(interface, name, default))


def _attend(
    kernel: Callable[..., Any],
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    **options: Any,
) -> Any:
    result = kernel(module, query, key, value, attention_mask, **options)
    for hear in tuple(_listeners.get(module, ())):
        hear(_call(module, query, key, attention_mask, options))
    return result


def _call(
    module: nn.Module, query: Tensor, key: Tensor, mask: Any, options: dict[str, Any]
) -> AttentionCall:
    if not (mask is None or isinstance(mask, Tensor)):
        raise TapError(
            f"{type(module).__name__} runs with a {type(mask).__name__}, which can't be read row "
            'by row; load the model with attn_implementation="sdpa"'
        )
    causal = options.get("is_causal")
    return AttentionCall(
        query=query.detach(),
        key=key.detach(),
        mask=mask,
        scaling=options.get("scaling") or query.shape[-1] ** -0.5,
        causal=getattr(module, "is_causal", True) if causal is None else causal,
        window=options.get("sliding_window"),
        softcap=options.get("softcap"),
    )


@torch.no_grad()
def _from_projections(
    layer: Any, projections: dict[str, Tensor], given: tuple[Any, ...], named: dict[str, Any]
) -> AttentionCall:
    """The call that a layer with its own attention code made, from what went in and came out."""
    passed = inspect.signature(layer.forward).bind(*given, **named).arguments
    passed |= passed.pop("kwargs", {})
    rotary = passed.get("position_embeddings")
    if len(projections) < len(_PROJECTIONS) or rotary is None or hasattr(layer, "q_norm"):
        raise TapError(
            f"{type(layer).__name__} can't be read: it does not look its kernel up in "
            "transformers' attention interface, nor has it q_proj, k_proj and position_embeddings "
            "without a norm between them"
        )
    query, key = (
        projections[name].view(*projections[name].shape[:2], -1, layer.head_dim).transpose(1, 2)
        for name in _PROJECTIONS
    )
    query, key = _rotated(layer, query, key, *rotary)
    return _call(layer, query, key, passed.get("attention_mask"), passed)


def _rotated(
    layer: Any, query: Tensor, key: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor]:
    """Rotary embedding by the function that the layer's own file uses."""
    file = sys.modules[type(layer).__module__]
    multimodal = getattr(file, "apply_multimodal_rotary_pos_emb", None)
    if multimodal is not None:
        section = layer.rope_scaling["mrope_section"]
        return multimodal(query, key, cos, sin, section)  # type: ignore[no-any-return]
    plain = getattr(file, "apply_rotary_pos_emb", None)
    if plain is None:
        raise TapError(f"{file.__name__} has no rotary embedding function to compute a row with")
    return plain(query, key, cos, sin)  # type: ignore[no-any-return]
