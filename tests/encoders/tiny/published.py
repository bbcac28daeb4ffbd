"""How published checkpoints and adapters are laid out on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel, ProcessorMixin

_PEFT = "base_model.model."
_TIED = {"model.lm_head.weight"}

# Start of a tensor's name in the model, and in the files; the first that matches counts.
_RENAMED: dict[str, tuple[tuple[str, str], ...]] = {
    "ColPali": (
        ("model.model.language_model.", "model.language_model.model."),
        ("model.model.vision_tower.", "model.vision_tower.vision_model."),
        ("model.model.", "model."),
    ),
    "ColQwen2": (("language_model.", "model."),),
    "ColQwen2_5": (("language_model.", "model."),),
    "ColModernVBert": (
        ("model.vision_model.", "model.vision_model.vision_model."),
        ("custom_text_proj.", "model.custom_text_proj."),
    ),
    "ColGemma3": (("vision_tower.", "vision_tower.vision_model."),),
}

_LINEAR = "(down_proj|gate_proj|up_proj|k_proj|q_proj|v_proj|o_proj)"
_ADAPTED = {
    "ColPali": rf"(.*(language_model).*{_LINEAR}.*$|.*(custom_text_proj).*$)",
    "ColIdefics3": rf"(.*(model.text_model).*{_LINEAR}.*$|.*(custom_text_proj).*$)",
    "ColModernVBert": r"(.*(text_model).*(Wqkv|Wi|Wo).*$|.*(custom_text_proj).*$)",
}
_ADAPTED_ELSE = rf"(.*(model)(?!.*visual).*{_LINEAR}.*$|.*(custom_text_proj).*$)"


def _published_name(family: str, name: str) -> str:
    for ours, theirs in _RENAMED.get(family, ()):
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name


def tensors(family: str, model: PreTrainedModel) -> dict[str, torch.Tensor]:
    return {
        _published_name(family, name): weight.contiguous()
        for name, weight in model.state_dict().items()
        if name not in _TIED
    }


def draw_weights(weights: Iterable[tuple[str, nn.Parameter]], seed: int) -> None:
    """Weights large enough for attention to be uneven, and none left at its default.

    With the usual initial weights every patch gets the same attention, and a weight that was
    never loaded would go unnoticed where its default is zero or one.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, weight in weights:
            noise = torch.randn(weight.shape, generator=generator)
            if weight.ndim < 2:
                weight.add_(0.1 * noise)
            else:
                weight.copy_(noise * weight[0].numel() ** -0.5)


def save_adapter(
    family: str, model: PreTrainedModel, base_folder: Path, folder: Path, seed: int
) -> None:
    """Adapt the layers that the published adapters do.

    The projection to the embedding is one of them, except in ColIdefics3, where it has another
    name than the pattern says and stays as it is in the base.
    """
    settings = LoraConfig(
        r=4,
        lora_alpha=4,
        lora_dropout=0.1,
        init_lora_weights="gaussian",
        task_type="FEATURE_EXTRACTION",
        target_modules=_ADAPTED.get(family, _ADAPTED_ELSE),
        base_model_name_or_path=str(base_folder),
    )
    adapted = get_peft_model(model, settings)
    draw_weights(((n, w) for n, w in adapted.named_parameters() if "lora_" in n), seed)
    adapted.save_pretrained(folder)
    _rename_adapter(family, folder / "adapter_model.safetensors")


def _rename_adapter(family: str, file: Path) -> None:
    prefix = "" if family == "ColModernVBert" else _PEFT
    renamed = {
        prefix + _published_name(family, name.removeprefix(_PEFT)): weight
        for name, weight in load_file(file).items()
    }
    save_file(renamed, file, metadata={"format": "pt"})


def save_processor_files(processor: ProcessorMixin, folder: Path) -> None:
    """One file for each part, as before transformers 5, which writes them into one."""
    processor.image_processor.save_pretrained(folder)
    processor.tokenizer.save_pretrained(folder)
    settings = {"processor_class": type(processor).__name__}
    for name in ("image_seq_len", "image_seq_length"):
        if hasattr(processor, name):
            settings[name] = getattr(processor, name)
    (folder / "processor_config.json").write_text(json.dumps(settings))
