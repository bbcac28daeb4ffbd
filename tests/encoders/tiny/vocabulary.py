"""Small tokenizers with the special tokens of the real ones.

The special strings are real because the processors look them up by name. The words are learnt
from a few sentences, so that a page prompt has about as many tokens as with the real vocabulary;
any other text falls back to bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    GemmaTokenizer,
    GPT2Tokenizer,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen2Tokenizer,
)

_SENTENCES = [
    "Describe the image. Describe this image. Describe the content.",
    "User: user assistant system model Query: What is the total revenue?",
    "Assistant:",
    "You are Qwen, a virtual human developed by the Qwen Team, Alibaba Group.",
]
_LEARNT = 400

_QWEN_SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *("<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>", "<|box_end|>"),
    *("<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>"),
    *("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"),
]

_GEMMA3_TOKENS = {
    "boi_token": "<start_of_image>",
    "eoi_token": "<end_of_image>",
    "image_token": "<image_soft_token>",
}

_TILE_TAGS = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]


def _learn(
    pre_tokenizer: pre_tokenizers.PreTokenizer, sentences: Iterable[str], alphabet: list[str]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Words in the order of their ids, and the merges that make them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=_LEARNT + len(alphabet), initial_alphabet=alphabet, show_progress=False
    )
    # Each sentence twice: a pair of symbols seen only once is never merged.
    tokenizer.train_from_iterator([*sentences] * 2, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    words = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return words, [(left, right) for left, right in model["merges"]]


def _numbered(*groups: Iterable[str]) -> dict[str, int]:
    words = dict.fromkeys(word for group in groups for word in group)
    return {word: number for number, word in enumerate(words)}


def _byte_level() -> tuple[list[str], list[tuple[str, str]]]:
    pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _learn(pre_tokenizer, _SENTENCES, sorted(pre_tokenizers.ByteLevel.alphabet()))


def qwen_tokenizer() -> PreTrainedTokenizerBase:
    """No bos; the pad token `<|endoftext|>` also ends every page prompt."""
    words, merges = _byte_level()
    return Qwen2Tokenizer(
        vocab=_numbered(words),
        merges=merges,
        eos_token="<|im_end|>",
        additional_special_tokens=_QWEN_SPECIAL,
        padding_side="left",
    )


def _gemma_words() -> tuple[list[str], list[tuple[str, str]]]:
    spaced = [f"{sentence}\n".replace(" ", "▁") for sentence in _SENTENCES]
    words = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("\n", behavior="isolated"),
            pre_tokenizers.Split("▁", behavior="merged_with_next"),
            pre_tokenizers.Punctuation(),
        ]
    )
    return _learn(words, spaced, ["\n", "▁"])


def _gemma(padding_side: str, **options: object) -> PreTrainedTokenizerBase:
    words, merges = _gemma_words()
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    newlines = ["\n", "\n\n"]
    return GemmaTokenizer(
        vocab=_numbered(["<pad>", "<eos>", "<bos>", "<unk>"], fallback, newlines, words),
        merges=[("\n", "\n"), *merges],
        padding_side=padding_side,
        mask_token=None,
        **options,
    )


def paligemma_tokenizer() -> PreTrainedTokenizerBase:
    """Pads on the right, as ColPali does since v1.1; `<image>` is added by the processor."""
    return _gemma("right")


def gemma3_tokenizer(chat_template: str) -> PreTrainedTokenizerBase:
    """Puts `<bos>` before every text, even one whose chat template already did."""
    tokenizer = _gemma(
        "left",
        extra_special_tokens=_GEMMA3_TOKENS,
        chat_template=chat_template,
        add_bos_token=True,
    )
    tokenizer.add_tokens(["<start_of_turn>", "<end_of_turn>"], special_tokens=True)
    return tokenizer


def smolvlm_tokenizer() -> PreTrainedTokenizerBase:
    """Pads with `<|im_end|>` and adds nothing before or after a text."""
    words, merges = _byte_level()
    tokenizer = GPT2Tokenizer(
        vocab=_numbered(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], words),
        merges=merges,
        unk_token="<|endoftext|>",
        bos_token="<|im_start|>",
        eos_token="<end_of_utterance>",
        pad_token="<|im_end|>",
    )
    tokenizer.add_tokens(["<global-img>", *_TILE_TAGS], special_tokens=True)
    tokenizer.add_tokens(["<fake_token_around_image>", "<image>"], special_tokens=True)
    return tokenizer


def modernvbert_tokenizer() -> PreTrainedTokenizerBase:
    """Wraps every text in `[CLS]` and `[SEP]`; `<|begin_of_text|>` is ordinary text to it."""
    words, merges = _byte_level()
    special = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    vocabulary = _numbered(words, special)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    names = ["unk_token", "cls_token", "sep_token", "pad_token", "mask_token"]
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **dict(zip(names, special, strict=True))
    )
    wrapped.add_tokens([*_TILE_TAGS, "<global-img>", "<fake_token_around_image>"], True)
    wrapped.add_tokens(["<end_of_utterance>", "<image>"], special_tokens=True)
    return wrapped
