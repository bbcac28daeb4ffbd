"""Tiny random models on disk, as `MultiVectorEncoder(folder)` finds published ones.

There are two kinds: a transformers-native `…ForRetrieval`, which projects by itself, and a bare
backbone with the projection as a module behind it and the page's prompt in a chat template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from transformers import (
    ColModernVBertConfig,
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    ColPaliConfig,
    ColPaliForRetrieval,
    ColPaliProcessor,
    ColQwen2Config,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    Idefics3Processor,
    ModernVBertModel,
    PreTrainedModel,
    Qwen2_5_VLModel,
    Qwen2_5_VLProcessor,
)

from encoders.tiny.gemma import colpali
from encoders.tiny.parts import HIDDEN
from encoders.tiny.published import draw_weights
from encoders.tiny.qwen import colqwen2, colqwen2_5
from encoders.tiny.tiles import colmodernvbert

DIM = 32

_CHAT = """\
{%- for message in messages -%}
  {{ 'Query: ' if task == 'query' else 'STARTuser\n' }}
  {%- for part in message.content -%}
    {{ 'IMAGE' if part.type == 'image' else part.text }}
  {%- endfor -%}
  {{ '' if task == 'query' else 'Describe the image.' }}END
{%- endfor -%}
"""


def _chat(start: str, image: str, end: str) -> str:
    return _CHAT.replace("START", start).replace("IMAGE", image).replace("END", end)


def _save(model: PreTrainedModel, processor: Any, folder: Path) -> None:
    draw_weights(model.named_parameters(), seed=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


def colqwen2_for_retrieval(folder: Path) -> None:
    parts = colqwen2()
    model = ColQwen2ForRetrieval(ColQwen2Config(vlm_config=parts.config, embedding_dim=DIM))
    theirs = parts.processor
    _save(model, ColQwen2Processor(theirs.image_processor, theirs.tokenizer), folder)


def colpali_for_retrieval(folder: Path) -> None:
    parts = colpali()
    model = ColPaliForRetrieval(ColPaliConfig(vlm_config=parts.config, embedding_dim=DIM))
    theirs = parts.processor
    _save(model, ColPaliProcessor(theirs.image_processor, theirs.tokenizer), folder)


def colmodernvbert_for_retrieval(folder: Path) -> None:
    parts = colmodernvbert()
    config = ColModernVBertConfig(vlm_config=parts.config, embedding_dim=DIM)
    theirs = parts.processor
    processor = ColModernVBertProcessor(
        theirs.image_processor, theirs.tokenizer, image_seq_len=theirs.image_seq_len
    )
    _save(ColModernVBertForRetrieval(config), processor, folder)


def qwen2_5_backbone(folder: Path) -> None:
    parts = colqwen2_5()
    image = "<|vision_start|><|image_pad|><|vision_end|>"
    processor = Qwen2_5_VLProcessor(
        parts.processor.image_processor,
        parts.processor.tokenizer,
        parts.processor.video_processor,
        chat_template=_chat("<|im_start|>", image, "<|im_end|><|endoftext|>"),
    )
    _save(Qwen2_5_VLModel(parts.config), processor, folder / "backbone")
    _with_projection(folder)


def modernvbert_backbone(folder: Path) -> None:
    parts = colmodernvbert()
    processor = Idefics3Processor(
        parts.processor.image_processor,
        parts.processor.tokenizer,
        image_seq_len=parts.processor.image_seq_len,
        chat_template=_chat("", "<image>", "<end_of_utterance>\nAssistant:"),
    )
    _save(ModernVBertModel(parts.config), processor, folder / "backbone")
    _with_projection(folder)


def _with_projection(folder: Path) -> None:
    projection = Dense(
        HIDDEN,
        DIM,
        bias=False,
        activation_function=torch.nn.Identity(),
        module_input_name="token_embeddings",
    )
    draw_weights(projection.named_parameters(), seed=1)
    modules = [
        Transformer(str(folder / "backbone")),
        projection,
        MultiVectorMask(),
        Normalize(module_input_name="token_embeddings"),
    ]
    MultiVectorEncoder(modules=modules, device="cpu").save_pretrained(str(folder))


KINDS = {
    "ColQwen2ForRetrieval": colqwen2_for_retrieval,
    "Qwen2.5 backbone": qwen2_5_backbone,
    "ColPaliForRetrieval": colpali_for_retrieval,
    "ModernVBERT backbone": modernvbert_backbone,
}
