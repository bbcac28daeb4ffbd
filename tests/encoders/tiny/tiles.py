"""The families that cut a page into square tiles; the last tile is the whole page, shrunk."""

from __future__ import annotations

from colpali_engine.models import (
    ColIdefics3,
    ColIdefics3Processor,
    ColModernVBert,
    ColModernVBertProcessor,
)
from transformers import (
    Idefics3Config,
    Idefics3ImageProcessor,
    ModernVBertConfig,
)

from .parts import HEADS, HIDDEN, LAYERS, Parts, decoder, siglip
from .vocabulary import modernvbert_tokenizer, smolvlm_tokenizer

_SHUFFLE = 4  # patches per side that become one vector, as in the published models
_SIDE = 3  # vectors per side of a tile; 8 in the published models
_PATCH = 4  # pixels; 16 in the published models
_TILE = _SIDE * _SHUFFLE * _PATCH


def _image_processor() -> Idefics3ImageProcessor:
    """The longer edge of a page takes four tiles, whatever the page's own size."""
    return Idefics3ImageProcessor(
        size={"longest_edge": 4 * _TILE}, max_image_size={"longest_edge": _TILE}
    )


def colidefics3() -> Parts:
    processor = ColIdefics3Processor(
        _image_processor(), smolvlm_tokenizer(), image_seq_len=_SIDE**2
    )
    tokenizer = processor.tokenizer
    config = Idefics3Config(
        text_config=decoder(
            key_value_heads=2,
            model_type="llama",
            vocab_size=len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        vision_config=siglip(_TILE, _PATCH),
        image_token_id=processor.image_token_id,
        scale_factor=_SHUFFLE,
    )
    return Parts(ColIdefics3, config, processor)


def colmodernvbert() -> Parts:
    """Sees both ways; one layer in three is full and the last one is, as of 22 in the real one.

    The window of the other layers is shorter than a page.
    """
    processor = ColModernVBertProcessor(
        _image_processor(), modernvbert_tokenizer(), image_seq_len=_SIDE**2
    )
    tokenizer = processor.tokenizer
    config = ModernVBertConfig(
        text_config={
            "hidden_size": HIDDEN,
            "intermediate_size": 2 * HIDDEN,
            "num_hidden_layers": LAYERS + 1,
            "num_attention_heads": HEADS,
            "max_position_embeddings": 4096,
            "global_attn_every_n_layers": 3,
            "local_attention": 16,
            "vocab_size": len(tokenizer),
            "pad_token_id": tokenizer.pad_token_id,
            "bos_token_id": tokenizer.cls_token_id,
            "cls_token_id": tokenizer.cls_token_id,
            "eos_token_id": tokenizer.sep_token_id,
            "sep_token_id": tokenizer.sep_token_id,
        },
        vision_config=siglip(_TILE, _PATCH),
        image_token_id=processor.image_token_id,
        pixel_shuffle_factor=_SHUFFLE,
    )
    return Parts(ColModernVBert, config, processor)
