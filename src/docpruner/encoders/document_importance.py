"""Inside a sentence-transformers `MultiVectorEncoder`: which tokens are patches, and importances.

A listener at the model's transformer writes importances beside the embeddings of images, where the
modules behind it, and whoever asks for raw features, find them.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import torch
from sentence_transformers.base.model import BaseModel
from sentence_transformers.base.modules import Transformer
from torch import Tensor

from docpruner.encoders.families import FAMILIES, Family, Layout, PageTokens
from docpruner.encoders.tap import ImportanceTap, attention_layers, importance_tap
from docpruner.errors import EncoderError, TapError

Features = dict[str, Any]


def the_transformer(model: BaseModel) -> Transformer:
    found = [module for module in model.modules() if isinstance(module, Transformer)]
    if len(found) != 1:
        raise EncoderError(
            f"the model has {len(found)} Transformer modules, PatchReduction needs exactly one"
        )
    transformer: Transformer = found[0]
    if transformer.backend != "torch":
        raise TapError(
            f"the model runs on {transformer.backend}, where attention can't be read; load it with "
            'backend="torch"'
        )
    attention_layers(transformer.model)  # raises if there are none
    return transformer


@dataclass(frozen=True)
class DocumentPages:
    """How a model's pages are read: which tokens are patches, and where each stands."""

    image_token: int
    family: Family | None  # None: one that we don't know
    processor: Any

    @classmethod
    def of(cls, transformer: Transformer) -> DocumentPages:
        config: Any = transformer.model.config
        config = getattr(config, "vlm_config", config)  # of a transformers-native ...ForRetrieval
        token = getattr(config, "image_token_id", None)
        if token is None:
            raise EncoderError(
                f"{type(transformer.model).__name__} has no image_token_id in its configuration: "
                "PatchReduction reduces images, and this model reads none"
            )
        family = FAMILIES.get(config.model_type)
        return cls(int(token), family, transformer.processor)

    def places(self, features: Features, row: int, patches: int) -> Layout | None:
        """Where the patches of a document stand on its page; None if that can't be told."""
        images: Tensor | None = features.get("num_images_per_sample")  # None: one for each document
        if self.family is None or (images is not None and images[row] != 1):
            return None
        grids: Tensor | None = features.get("image_grid_thw")
        grid = None
        if grids is not None:
            _, high, wide = grids[row if images is None else int(images[:row].sum())].tolist()
            grid = high, wide
        ids = features["input_ids"][row].cpu()
        found = self.family.layout(PageTokens(ids, patches, grid, self.processor))
        return found if len(found.cells) == patches else None


class ImportanceListener:
    """Writes importances and the place of the global token beside the embeddings of images.

    One for each transformer, whichever models share it. Its hooks are bound methods of a plain
    object, so that models can still be copied and sent to other processes.
    """

    def __init__(self) -> None:
        self._open: dict[int, tuple[ExitStack, ImportanceTap]] = {}  # by thread

    @classmethod
    def attach(cls, transformer: Transformer) -> None:
        hooks = transformer._forward_pre_hooks.values()
        if not any(isinstance(getattr(hook, "__self__", None), cls) for hook in hooks):
            listener = cls()
            transformer.register_forward_pre_hook(listener.before)
            transformer.register_forward_hook(listener.after, always_call=True)

    def before(self, transformer: Transformer, args: tuple[Features]) -> None:
        self._close()  # still open after a KeyboardInterrupt, which calls no hook
        features = args[0]
        if "pixel_values" in features and "attention_mask" in features:
            # The model is run by its forward(), past any hook that could see the mask.
            tap = importance_tap(transformer.model, attention_mask=features["attention_mask"])
            stack = ExitStack()
            self._open[get_ident()] = stack, stack.enter_context(tap)

    def after(self, _: Transformer, args: tuple[Features], features: Features | None) -> None:
        tap = self._close()
        if tap is not None and features is not None:  # None if the pass failed
            mask = args[0]["attention_mask"]
            features["importance"] = tap.importance.to(mask.device)
            features["global_token"] = last_real(mask)

    def _close(self) -> ImportanceTap | None:
        stack, tap = self._open.pop(get_ident(), (None, None))
        if stack is not None:
            stack.close()
        return tap


def last_real(mask: Tensor) -> Tensor:
    """Where the last token that is not padding stands, (batch,)."""
    return (mask.bool() * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
