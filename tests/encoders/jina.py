"""Writes a tiny random checkpoint shaped like `jinaai/jina-embeddings-v4`, remote code included."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModel,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

TRANSFORMERS_4 = transformers.__version__.startswith("4.")
REMOTE_CODE = Path(__file__).with_name("jina_stand_in")
SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
TASKS = ("retrieval", "text-matching", "code")
HIDDEN = 64
LORA_RANK = 4
ADAPTED = r"(.*(model).*(down|gate|up|k|q|v|o)_proj.*$|.*multi_vector_projector.*$)"


def build_jina(folder: Path, seed: int = 0) -> Path:
    """Load it back with `AutoModel.from_pretrained(folder, trust_remote_code=True)`."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in REMOTE_CODE.glob("*.py"):
        shutil.copy(source, folder)
    tokenizer = _tokenizer(folder)
    tokenizer.save_pretrained(folder)
    _save_image_processor(folder)
    _write(folder / "config.json", _config(tokenizer))
    _save_weights(folder, torch.Generator().manual_seed(seed))
    return folder


def _tokenizer(folder: Path) -> Any:
    """transformers 4, which the published code needs, reads a vocabulary from files only."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*alphabet, *SPECIAL_TOKENS])}
    if TRANSFORMERS_4:
        _write(folder / "vocab.json", vocabulary)
        (folder / "merges.txt").write_text("#version: 0.2\n")
        files = {
            "vocab_file": str(folder / "vocab.json"),
            "merges_file": str(folder / "merges.txt"),
        }
        tokenizer = transformers.Qwen2TokenizerFast(**files, eos_token="<|im_end|>")
    else:
        tokenizer = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=[], eos_token="<|im_end|>")
    tokenizer.add_tokens(list(SPECIAL_TOKENS), special_tokens=True)
    return tokenizer


def _save_image_processor(folder: Path) -> None:
    four_tokens, thirty_tokens = 4 * 28**2, 30 * 28**2
    Qwen2VLVideoProcessor().save_pretrained(folder)
    images = Qwen2VLImageProcessor(min_pixels=four_tokens, max_pixels=thirty_tokens)
    images.save_pretrained(folder)


def _config(tokenizer: Any) -> dict[str, Any]:
    token = tokenizer.convert_tokens_to_ids
    return {
        "architectures": ["JinaEmbeddingsV4Model"],
        "auto_map": {
            "AutoConfig": "configuration_jina_embeddings_v4.JinaEmbeddingsV4Config",
            "AutoModel": "modeling_jina_embeddings_v4.JinaEmbeddingsV4Model",
        },
        "dtype": "float32",
        "image_token_id": token("<|image_pad|>"),
        "video_token_id": token("<|video_pad|>"),
        "vision_start_token_id": token("<|vision_start|>"),
        "vision_end_token_id": token("<|vision_end|>"),
        "multi_vector_projector_dim": 128,
        "single_vector_pool_strategy": "mean",
        "task_names": list(TASKS),
        "text_config": _text_config(len(tokenizer)),
        "vision_config": _vision_config(),
    }


def _text_config(vocabulary: int) -> dict[str, Any]:
    return {
        "model_type": "qwen2_5_vl_text",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": 96,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "bos_token_id": None,
        "eos_token_id": None,
        "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3]},
        "rope_theta": 1_000_000.0,
    }


def _vision_config() -> dict[str, Any]:
    return {
        "model_type": "qwen2_5_vl",
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_heads": 2,
        "out_hidden_size": HIDDEN,
    }


def _save_weights(folder: Path, generator: torch.Generator) -> None:
    config = AutoConfig.from_pretrained(folder, trust_remote_code=True)
    model = AutoModel.from_config(config, trust_remote_code=True)
    weights = {name: _drawn(weight, generator) for name, weight in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _save_adapters(folder / "adapters", model, generator)


def _save_adapters(folder: Path, model: torch.nn.Module, generator: torch.Generator) -> None:
    """The keys leave out the name of the adapter, which PEFT puts back."""
    folder.mkdir(exist_ok=True)
    lora = {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION",
        "r": LORA_RANK,
        "lora_alpha": LORA_RANK,
        "target_modules": ADAPTED,
        "exclude_modules": ".*visual.*",
    }
    _write(folder / "adapter_config.json", lora)
    weights = {}
    for name, layer in model.named_modules():
        if not isinstance(layer, torch.nn.Linear) or "visual" in name:
            continue
        for task in TASKS:
            key = f"base_model.model.{name}.lora_{{}}.{task}.weight"
            weights[key.format("A")] = _random((LORA_RANK, layer.in_features), generator)
            weights[key.format("B")] = _random((layer.out_features, LORA_RANK), generator)
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})


def _drawn(weight: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """None keeps its default, or one that was never loaded would go unnoticed."""
    if weight.dim() > 1:
        return _random(tuple(weight.shape), generator)
    return weight + 0.1 * torch.randn(weight.shape, generator=generator)


def _random(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Unit variance in, unit variance out: attention is then far from uniform."""
    return torch.randn(shape, generator=generator) * shape[-1] ** -0.5


def _write(path: Path, settings: dict[str, Any]) -> None:
    path.write_text(json.dumps(settings, indent=2))
