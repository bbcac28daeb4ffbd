"""What a checkpoint is made of before it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedConfig, PreTrainedModel, ProcessorMixin

HIDDEN = 64
HEADS = 4
LAYERS = 3


@dataclass(frozen=True)
class Parts:
    """A model class, the configuration to make it from, and the processor that feeds it."""

    model_class: type[PreTrainedModel]
    config: PreTrainedConfig
    processor: ProcessorMixin


Builder = Callable[[], Parts]


def decoder(key_value_heads: int, **options: Any) -> dict[str, Any]:
    """Settings every text model here has, as its config class names them."""
    return {
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": key_value_heads,
        "max_position_embeddings": 4096,
        **options,
    }


def siglip(image_size: int, patch_size: int, **options: Any) -> dict[str, Any]:
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": image_size,
        "patch_size": patch_size,
        **options,
    }
