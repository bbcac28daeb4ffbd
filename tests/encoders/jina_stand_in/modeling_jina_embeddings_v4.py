"""The encoder of Jina Embeddings v4 in small: same names, same calls, own bodies.

`from_pretrained` returns a PEFT model around the encoder, so the last layer's attention is
`base_model.model.model.language_model.layers[-1].self_attn`, and `encode_*` run in bfloat16.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import normalize
from transformers import BatchFeature, Qwen2_5_VLProcessor

from .configuration_jina_embeddings_v4 import JinaEmbeddingsV4Config
from .custom_lora_module import MultiAdapterLinear
from .qwen2_5_vl import Qwen2_5_VLForConditionalGeneration

PAGE_PROMPT = (
    "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Describe the image.<|im_end|>\n"
)
PREFIX_DICT = {"query": "Query", "passage": "Passage"}

Task = str | list[str]


class JinaEmbeddingsV4Processor(Qwen2_5_VLProcessor):
    text_max_length = 32768

    def process_images(self, images: list[Image.Image]) -> BatchFeature:
        """`pixel_values` come as (B, most patches, pixels), padded with zeros."""
        batch = self(
            text=[PAGE_PROMPT] * len(images),
            images=images,
            padding="longest",
            return_tensors="pt",
            return_mm_token_type_ids=False,
        )
        patches = batch["pixel_values"].split(batch["image_grid_thw"].prod(-1).tolist())
        batch["pixel_values"] = nn.utils.rnn.pad_sequence(patches, batch_first=True)
        return batch

    def process_texts(
        self,
        texts: list[str],
        max_length: int | None = None,
        prefix: str | None = None,
        padding: str | None = None,
    ) -> BatchFeature:
        return self(
            text=[f"{prefix}: {text}" if prefix else text for text in texts],
            padding=padding or "longest",
            max_length=min(max_length or self.text_max_length, self.text_max_length),
            truncation=True,
            return_tensors="pt",
            return_mm_token_type_ids=False,
        )


@dataclass
class JinaEmbeddingsV4ModelOutput:
    vlm_last_hidden_states: Tensor | None = None
    single_vec_emb: Tensor | None = None
    multi_vec_emb: Tensor | None = None


class JinaEmbeddingsV4Model(Qwen2_5_VLForConditionalGeneration):
    config_class = JinaEmbeddingsV4Config

    def __init__(self, config: JinaEmbeddingsV4Config) -> None:
        super().__init__(config)
        self.multi_vector_projector = nn.Linear(
            config.text_config.hidden_size, config.multi_vector_projector_dim
        )
        self.post_init()
        self.processor = JinaEmbeddingsV4Processor.from_pretrained(
            self.name_or_path, trust_remote_code=True
        )
        self._task: str | None = None

    @property
    def task(self) -> str | None:
        return self._task

    @task.setter
    def task(self, task: str) -> None:
        self._task = self._validate_task(task)

    def _validate_task(self, task: str | None) -> str:
        task = task or self._task
        if task not in self.config.task_names:
            raise ValueError(f"Invalid task: {task}. Must be one of {self.config.task_names}.")
        return task

    def get_last_hidden_states(
        self, task_label: Task, input_ids: Tensor, attention_mask: Tensor, **kwargs: Any
    ) -> Tensor:
        grid = kwargs.get("image_grid_thw")
        if kwargs.get("pixel_values") is not None:
            pages = zip(kwargs["pixel_values"], grid.prod(-1).tolist(), strict=True)
            kwargs["pixel_values"] = torch.cat([pixels[:count] for pixels, count in pages])
        position_ids, _ = self.model.get_rope_index(
            input_ids=input_ids, image_grid_thw=grid, attention_mask=attention_mask
        )
        outputs = super().forward(
            task_label=task_label,
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            **kwargs,
        )
        return outputs.hidden_states[-1]

    def forward(
        self,
        task_label: Task,
        input_ids: Tensor,
        attention_mask: Tensor,
        output_vlm_last_hidden_states: bool = False,
        **kwargs: Any,
    ) -> JinaEmbeddingsV4ModelOutput:
        states = self.get_last_hidden_states(task_label, input_ids, attention_mask, **kwargs)
        vectors = normalize(self.multi_vector_projector(states, task_label=task_label), dim=-1)
        return JinaEmbeddingsV4ModelOutput(
            vlm_last_hidden_states=states if output_vlm_last_hidden_states else None,
            single_vec_emb=self._mean_state(states, input_ids, attention_mask),
            multi_vec_emb=vectors * attention_mask[..., None],
        )

    def _mean_state(self, states: Tensor, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean from `<|vision_start|>` to `<|vision_end|>`, or over the whole text."""
        starts = (input_ids == self.config.vision_start_token_id).cumsum(-1)
        ends = (input_ids == self.config.vision_end_token_id).cumsum(-1)
        of_page = (starts > ends) | (input_ids == self.config.vision_end_token_id)
        used = of_page if bool(starts.any()) else attention_mask.bool()
        return normalize((states * used[..., None]).sum(1) / used.sum(1, keepdim=True), dim=-1)

    def encode_image(
        self,
        images: list[Image.Image] | Image.Image,
        task: str | None = None,
        batch_size: int = 8,
        return_multivector: bool = False,
    ) -> list[Tensor] | Tensor:
        encode = partial(self._encode, self.processor.process_images, task=task)
        return encode(images, batch_size=batch_size, return_multivector=return_multivector)

    def encode_text(
        self,
        texts: list[str] | str,
        task: str | None = None,
        max_length: int = 32768,
        batch_size: int = 8,
        return_multivector: bool = False,
        prompt_name: str | None = None,
    ) -> list[Tensor] | Tensor:
        prefix = PREFIX_DICT[prompt_name or "query"]
        process = partial(self.processor.process_texts, max_length=max_length, prefix=prefix)
        encode = partial(self._encode, process, task=task)
        return encode(texts, batch_size=batch_size, return_multivector=return_multivector)

    def _encode(
        self,
        process: Callable[[list[Any]], BatchFeature],
        data: Any,
        task: str | None,
        batch_size: int,
        return_multivector: bool,
    ) -> list[Tensor] | Tensor:
        task = self._validate_task(task)
        inputs = data if isinstance(data, list) else [data]
        self.eval()
        vectors: list[Tensor] = []
        for start in range(0, len(inputs), batch_size):
            batch = process(inputs[start : start + batch_size]).to(self.device)
            vectors += self._encode_batch(batch, task, return_multivector)
        return vectors if isinstance(data, list) else vectors[0]

    @torch.no_grad()
    def _encode_batch(
        self, batch: BatchFeature, task: str, return_multivector: bool
    ) -> list[Tensor]:
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            output = self(**batch, task_label=task)
        if not return_multivector:
            return list(output.single_vec_emb)
        pages = zip(output.multi_vec_emb, batch["attention_mask"].bool(), strict=True)
        return [vectors[real] for vectors, real in pages]

    @classmethod
    def from_pretrained(cls, name_or_path: str, *args: Any, **kwargs: Any) -> PeftModel:
        """A local folder only; the original also downloads."""
        model = super().from_pretrained(name_or_path, *args, **kwargs)
        adapters = str(Path(model.name_or_path) / "adapters")
        lora = LoraConfig.from_pretrained(adapters)
        layer = partial(MultiAdapterLinear, task_names=model.config.task_names)
        lora._custom_modules = {nn.Linear: layer}
        return PeftModel.from_pretrained(model=model, model_id=adapters, config=lora)
