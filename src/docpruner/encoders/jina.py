"""Jina Embeddings v4: remote code around a Qwen2.5-VL, with task adapters and a multi-vector head.

Its published code runs with transformers 4 only, while colpali-engine needs transformers 5: the two
can't share an environment, so Jina has an extra of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import transformers
from PIL.Image import Image
from torch import Tensor

from docpruner.encoders.colvision import NOISE_FILTERING, ColVisionEncoder
from docpruner.encoders.encoder_name import EncoderName
from docpruner.encoders.runtime import best_device, best_dtype, default_batch_size
from docpruner.errors import EncoderError

TASK = "retrieval"
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
    *,
    device: str | None,
    dtype: str | None,
    batch_size: int | None,
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
    chosen = device or best_device()
    try:
        model = transformers.AutoModel.from_pretrained(
            name.checkpoint,
            revision=name.revision,
            trust_remote_code=True,
            torch_dtype=best_dtype(chosen, dtype),
        )
    except (KeyError, AttributeError, ImportError) as error:
        raise EncoderError(
            f"{name.checkpoint}'s own code failed with transformers {transformers.__version__} "
            f"({type(error).__name__}: {error}); as published it needs transformers 4, in an "
            'environment of its own: pip install "docpruner[jina]"'
        ) from error
    return JinaEncoder(
        model.to(chosen),
        model.processor,
        name=str(name),
        batch_size=batch_size or default_batch_size(chosen),
        prompt=name.prompt,
        importance=name.importance,
    )
