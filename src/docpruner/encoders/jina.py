"""Jina Embeddings v4: remote code around a Qwen2.5-VL, with task adapters and a multi-vector head.

Its published code runs with transformers 4 only, while colpali-engine needs transformers 5: the two
can't share an environment, so Jina has an extra of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import torch
import transformers
from PIL.Image import Image
from safetensors import safe_open
from torch import Tensor

from docpruner.encoders.checkpoint import Checkpoint, ModelFiles, with_weights
from docpruner.encoders.colvision import NOISE_FILTERING, ColVisionEncoder
from docpruner.encoders.encoder_name import Attention, EncoderName
from docpruner.encoders.runtime import best_attention, best_device, best_dtype
from docpruner.errors import EncoderError

TASK = "retrieval"
ADAPTER = "adapters/adapter_model.safetensors"
NOISE_FILTERING_PROMPT = (
    f"<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>{NOISE_FILTERING}<|im_end|>\n"
)


def is_jina(config: dict[str, Any]) -> bool:
    return "JinaEmbeddingsV4Model" in (config.get("architectures") or [])


class JinaEncoder(ColVisionEncoder):
    """Jina v4's multi-vector head for retrieval.

    Its configuration is that of a Qwen2.5-VL, and so is its grid. The model itself is called, not
    its `encode_image`, which rounds to bfloat16 on any device and gives no token ids.
    """

    @property
    def dim(self) -> int:
        return int(self.model.config.multi_vector_projector_dim)

    def _run(self, batch: Any, options: Mapping[str, Any]) -> Tensor:
        vectors: Tensor = self.model(task_label=TASK, **batch, **options).multi_vec_emb
        return vectors

    def _prepare_pages(self, images: list[Image]) -> Any:
        if self.prompt == "default":
            return self.processor.process_images(images)
        batch = self.processor(
            text=[NOISE_FILTERING_PROMPT] * len(images),
            images=images,
            padding="longest",
            return_tensors="pt",
        )
        batch.pop("mm_token_type_ids", None)  # transformers 5 adds it; the remote code has no use
        pixels = batch["pixel_values"].split(batch["image_grid_thw"].prod(-1).tolist())
        batch["pixel_values"] = torch.nn.utils.rnn.pad_sequence(list(pixels), batch_first=True)
        return batch

    def _prepare_queries(self, texts: list[str]) -> Any:
        return self.processor.process_texts(texts, prefix="Query")

    def _use_noise_filtering_prompt(self) -> None:
        """Nothing to set: the prompt is written for each batch."""


def load_jina(
    name: EncoderName,
    files: ModelFiles,
    *,
    device: str | None,
    dtype: str | None,
    batch_size: int | None,
    attention: Attention | None = None,
    trust_remote_code: bool,
) -> JinaEncoder:
    """Load the model through its own code, which the user must allow."""
    if not trust_remote_code:
        raise EncoderError(
            f"{name.checkpoint} runs code from its repository; read it, then allow it with "
            "trust_remote_code=True"
        )
    if name.query_prefix is not None or name.query_tokens is not None:
        raise EncoderError(
            f"{name.checkpoint} writes `Query: ` before a query by its own code; query_prefix and "
            "query_tokens can't be set"
        )
    if name.max_visual_tokens is not None:
        raise EncoderError(
            f"{name.checkpoint} prepares pages itself; max_visual_tokens can't be set"
        )
    chosen = device or best_device()
    precision = best_dtype(chosen, dtype)
    checkpoint = with_weights(files.checkpoint)
    if not checkpoint.has(ADAPTER):
        raise EncoderError(f"{checkpoint.name} lacks {ADAPTER}; download the model again")
    try:
        model = transformers.AutoModel.from_pretrained(
            checkpoint.folder,
            trust_remote_code=True,
            torch_dtype=precision,
            **best_attention(chosen, precision, attention),
        )
    except (KeyError, AttributeError, ImportError) as error:
        raise EncoderError(
            f"{name.checkpoint}'s own code failed with transformers {transformers.__version__} "
            f"({type(error).__name__}: {error}); as published it needs transformers 4, in an "
            'environment of its own: pip install "docpruner[jina]"'
        ) from error
    _require_adapter(model, checkpoint)
    full_name = replace(
        name,
        revision=checkpoint.commit,
        dtype=str(precision).removeprefix("torch."),  # type: ignore[arg-type]
    )
    return JinaEncoder(
        model.to(chosen),
        model.processor,
        name=str(full_name),
        batch_size=batch_size,
        prompt=name.prompt,
        importance=name.importance,
    )


def _require_adapter(model: Any, checkpoint: Checkpoint) -> None:
    """Every weight of the task adapters is that of the file.

    peft 0.21 and later don't know the names in it: they leave the adapters as before training and
    say so in a warning.
    """
    placed = {_plain(key): value for key, value in model.named_parameters() if "lora_" in key}
    with safe_open(checkpoint.folder / ADAPTER, framework="pt") as saved:
        names = saved.keys()
        keys = {_plain(key): key for key in names}
        for name, weight in placed.items():
            if name not in keys:
                raise EncoderError(f"{checkpoint.name} lacks the adapter weight {name}")
            if not torch.equal(
                weight.detach().cpu(), saved.get_tensor(keys[name]).to(weight.dtype)
            ):
                raise EncoderError(
                    f"{checkpoint.name}: the adapter weight {name} was not loaded by peft "
                    f'{version("peft")}; versions 0.15.2 to 0.20 do: pip install "docpruner[jina]"'
                )
    if not placed or not any(value.any() for key, value in placed.items() if "lora_B" in key):
        raise EncoderError(f"{checkpoint.name} runs without its adapters: they are all zero")


def _plain(key: str) -> str:
    """A weight's name in a file; in the model the adapter's own name stands in it."""
    return key.replace(".default.", ".")
