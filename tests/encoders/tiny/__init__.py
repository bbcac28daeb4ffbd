"""Tiny random checkpoints of every ColVision family, loadable like the published ones.

The architecture of each is that of the published family, only narrower and shallower, and the
tensors carry the names they have in the published files, which are not those of the modules.
ColQwen2_5Omni is missing: colpali-engine 0.3.18 cannot construct it with transformers 5.22.
"""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import save_file
from transformers import PreTrainedModel, ProcessorMixin

from .gemma import colgemma3, colpali
from .parts import Builder
from .published import draw_weights, save_adapter, save_processor_files, tensors
from .qwen import colqwen2, colqwen2_5, colqwen3, colqwen3_5
from .tiles import colidefics3, colmodernvbert

__all__ = ["FAMILIES", "build", "build_adapter", "load"]

FAMILIES: dict[str, Builder] = {
    "ColPali": colpali,
    "ColQwen2": colqwen2,
    "ColQwen2_5": colqwen2_5,
    "ColQwen3": colqwen3,
    "ColQwen3_5": colqwen3_5,
    "ColIdefics3": colidefics3,
    "ColModernVBert": colmodernvbert,
    "ColGemma3": colgemma3,
}


def build(family: str, folder: Path, seed: int = 0) -> None:
    """Write a full checkpoint: configuration, weights, tokenizer and image processor."""
    parts = FAMILIES[family]()
    model = parts.model_class(parts.config)
    draw_weights(model.named_parameters(), seed)
    if family != "ColModernVBert":  # the published one names no architecture
        model.config.architectures = [family]
    model.config.save_pretrained(folder)
    save_file(tensors(family, model), folder / "model.safetensors", metadata={"format": "pt"})
    parts.processor.save_pretrained(folder)


def build_adapter(family: str, base_folder: Path, folder: Path, seed: int = 1) -> None:
    """Write a LoRA adapter of the checkpoint in `base_folder`, with no configuration of its own.

    A `config.json` beside the adapter would make transformers look for full weights there.
    """
    model, processor = load(family, base_folder)
    save_adapter(family, model, base_folder, folder, seed)
    save_processor_files(processor, folder)


def load(family: str, folder: Path) -> tuple[PreTrainedModel, ProcessorMixin]:
    """Load a folder through the real classes, whether it holds a checkpoint or an adapter."""
    parts = FAMILIES[family]()
    model = parts.model_class.from_pretrained(folder).eval()
    return model, type(parts.processor).from_pretrained(folder)
