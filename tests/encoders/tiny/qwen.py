"""The families on Qwen: pages keep their shape, two by two patches become one vector."""

from __future__ import annotations

from typing import Any

from colpali_engine.models import (
    ColQwen2,
    ColQwen2_5,
    ColQwen2_5_Processor,
    ColQwen2Processor,
    ColQwen3,
    ColQwen3_5,
    ColQwen3_5Processor,
    ColQwen3Processor,
)
from transformers import (
    PreTrainedTokenizerBase,
    Qwen2_5_VLConfig,
    Qwen2VLConfig,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
    Qwen3_5Config,
    Qwen3VLConfig,
    Qwen3VLVideoProcessor,
)

from .parts import HEADS, HIDDEN, Parts, decoder
from .vocabulary import qwen_tokenizer

_MERGE = 2
_MAX_VECTORS = 96  # of a page; 768 in the published processors


def _image_processor(patch_size: int) -> Qwen2VLImageProcessor:
    vector = (patch_size * _MERGE) ** 2
    return Qwen2VLImageProcessor(
        patch_size=patch_size,
        temporal_patch_size=2,
        merge_size=_MERGE,
        size={"shortest_edge": 4 * vector, "longest_edge": _MAX_VECTORS * vector},
    )


def _token_ids(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


def _text(tokenizer: PreTrainedTokenizerBase, rope: dict[str, Any], **options: Any) -> dict:
    return decoder(
        key_value_heads=2,
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        rope_parameters={"rope_type": "default", **rope},
        **options,
    )


def _windowed_vision() -> dict[str, Any]:
    """The last block sees the whole page, the one before only its window."""
    return {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "patch_size": 14,
        "window_size": 112,
        "fullatt_block_indexes": [1],
        "out_hidden_size": HIDDEN,
    }


def colqwen2() -> Parts:
    tokenizer = qwen_tokenizer()
    config = Qwen2VLConfig(
        text_config=_text(tokenizer, {"rope_theta": 1e6, "mrope_section": [2, 3, 3]}),
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "num_heads": 2,
            "patch_size": 14,
            "hidden_size": HIDDEN,
        },
        **_token_ids(tokenizer),
    )
    processor = ColQwen2Processor(_image_processor(14), tokenizer, Qwen2VLVideoProcessor())
    return Parts(ColQwen2, config, processor)


def colqwen2_5() -> Parts:
    tokenizer = qwen_tokenizer()
    config = Qwen2_5_VLConfig(
        text_config=_text(tokenizer, {"rope_theta": 1e6, "mrope_section": [2, 3, 3]}),
        vision_config=_windowed_vision(),
        **_token_ids(tokenizer),
    )
    processor = ColQwen2_5_Processor(_image_processor(14), tokenizer, Qwen2VLVideoProcessor())
    return Parts(ColQwen2_5, config, processor)


def colqwen3() -> Parts:
    """Features of an early vision block are added again after the first decoder layers."""
    tokenizer = qwen_tokenizer()
    rope = {"rope_theta": 5e6, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
    config = Qwen3VLConfig(
        text_config=_text(tokenizer, rope, head_dim=HIDDEN // HEADS),
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 16,
            "out_hidden_size": HIDDEN,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0, 1],
        },
        **_token_ids(tokenizer),
    )
    processor = ColQwen3Processor(_image_processor(16), tokenizer, Qwen3VLVideoProcessor())
    return Parts(ColQwen3, config, processor)


def colqwen3_5() -> Parts:
    """Three layers of linear attention, then one of full attention, as in every published size."""
    tokenizer = qwen_tokenizer()
    rope = {
        "rope_theta": 1e7,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
        "partial_rotary_factor": 0.25,
    }
    linear = {
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
    }
    text = _text(tokenizer, rope, head_dim=32, full_attention_interval=4, **linear)
    config = Qwen3_5Config(
        text_config={**text, "num_hidden_layers": 4},
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 16,
            "out_hidden_size": HIDDEN,
            "num_position_embeddings": 64,
        },
        **_token_ids(tokenizer),
    )
    processor = ColQwen3_5Processor(_image_processor(16), tokenizer, Qwen3VLVideoProcessor())
    return Parts(ColQwen3_5, config, processor)
