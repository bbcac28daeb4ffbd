"""The families on Gemma: every page is squeezed into the same square of patches."""

from __future__ import annotations

from colpali_engine.models import ColGemma3, ColGemmaProcessor3, ColPali, ColPaliProcessor
from transformers import (
    Gemma3Config,
    Gemma3ImageProcessor,
    PaliGemmaConfig,
    SiglipImageProcessor,
)

from .parts import HEADS, HIDDEN, Parts, decoder, siglip
from .vocabulary import gemma3_tokenizer, paligemma_tokenizer

_GEMMA3_CHAT = (
    "{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<start_of_image>{% else %}{{ part['text'] | trim }}{% endif %}"
    "{% endfor %}<end_of_turn>\n{% endfor %}"
)


def colpali() -> Parts:
    """Eight by eight patches of 14 pixels; 32 by 32 in the published model."""
    side, patch = 8, 14
    image_processor = SiglipImageProcessor(size={"height": side * patch, "width": side * patch})
    image_processor.image_seq_length = side**2
    processor = ColPaliProcessor(image_processor, paligemma_tokenizer())
    tokenizer = processor.tokenizer
    config = PaliGemmaConfig(
        text_config=decoder(
            key_value_heads=1,
            model_type="gemma",
            vocab_size=len(tokenizer),
            head_dim=HIDDEN // HEADS,
        ),
        vision_config=siglip(
            side * patch, patch, model_type="siglip_vision_model", vision_use_head=False
        ),
        image_token_index=processor.image_token_id,
        projection_dim=HIDDEN,
        hidden_size=HIDDEN,
    )
    return Parts(ColPali, config, processor)


def colgemma3() -> Parts:
    """Ends on a layer with a sliding window, as the 4B model does: full is the one before.

    The window (1024 in the 4B model) is longer than a page, so it hides nothing from the last
    token.
    """
    side, pooling, patch = 8, 2, 14
    pixels = side * pooling * patch
    processor = ColGemmaProcessor3(
        Gemma3ImageProcessor(size={"height": pixels, "width": pixels}),
        gemma3_tokenizer(_GEMMA3_CHAT),
        image_seq_length=side**2,
    )
    tokenizer = processor.tokenizer
    config = Gemma3Config(
        text_config=decoder(
            key_value_heads=2,
            vocab_size=len(tokenizer),
            head_dim=HIDDEN // HEADS,
            query_pre_attn_scalar=HIDDEN // HEADS,
            sliding_window=256,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
        vision_config=siglip(pixels, patch, vision_use_head=False),
        mm_tokens_per_image=side**2,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )
    return Parts(ColGemma3, config, processor)
