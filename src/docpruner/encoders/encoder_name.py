"""An encoder's name: the full description of what made the vectors of an index."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote, unquote

from docpruner.encoders.encoder_plugins import factory
from docpruner.errors import EncoderError
from docpruner.types import Prompt

Importance = Literal["global-token", "centrality", "both"]
Reads = Literal["words", "pixels"]
Attention = Literal["sdpa", "flash", "eager"]
Precision = Literal["float32", "bfloat16", "float16"]

HUB_NAME = re.compile(r"[A-Za-z0-9_-][\w.-]*/[\w.-]+")  # ./this/one is a folder


@dataclass(frozen=True)
class EncoderName:
    """An encoder's name, taken apart: `checkpoint@revision:base=…,dtype=…,prompt=…`.

    Only what is not at its default is written. `revision` and `base` (the commit of the model that
    an adapter adapts) are whole commits once the encoder is loaded; folders have none.
    """

    checkpoint: str
    revision: str | None = None
    base: str | None = None
    dtype: Precision = "float32"
    prompt: Prompt = "default"
    importance: Importance = "global-token"
    query_prefix: str | None = None  # before a query; None: as the family is trained
    query_tokens: int | None = None  # that follow a query; None: as the family is trained
    max_visual_tokens: int | None = None  # of a page; None: as many as the processor allows

    def __str__(self) -> str:
        options = [
            f"{field.name}={quote(str(value), safe='')}"
            for field in fields(self)[2:]
            if (value := getattr(self, field.name)) != field.default
        ]
        revision = f"@{self.revision}" if self.revision else ""
        return self.checkpoint + revision + (":" + ",".join(options) if options else "")

    @property
    def reads(self) -> Reads:
        """What an encoder of this name sees of a page, told without loading it.

        Of another package's encoder its factory says it, if that has an attribute of this name.
        """
        if self.is_builtin:
            return "words"
        if self.is_on_the_hub or Path(self.checkpoint).is_dir():
            return "pixels"
        return "words" if getattr(factory(self.checkpoint), "reads", "") == "words" else "pixels"

    @property
    def is_builtin(self) -> bool:
        return self.checkpoint.startswith("builtin")

    @property
    def is_endpoint(self) -> bool:
        return self.checkpoint.startswith(("http://", "https://"))

    @property
    def is_on_the_hub(self) -> bool:
        """Whether it names a repository of the Hugging Face Hub rather than a folder."""
        return HUB_NAME.fullmatch(self.checkpoint) is not None

    def agrees_with(self, other: EncoderName) -> bool:
        """Whether vectors of the two can be compared.

        A commit that one of them leaves out is taken for the other's; precision is rounding only.
        """
        mine, theirs = self, replace(other, dtype=self.dtype)
        for pinned in ("revision", "base"):
            if getattr(mine, pinned) is None or getattr(theirs, pinned) is None:
                mine, theirs = replace(mine, **{pinned: None}), replace(theirs, **{pinned: None})  # type: ignore[arg-type]
        return mine == theirs

    @classmethod
    def read(cls, text: str) -> EncoderName:
        checkpoint, colon, options = text.rpartition(":")
        if not colon or "=" not in options:
            checkpoint, options = text, ""
        revision = ""
        if not _is_folder(checkpoint):  # a folder's name may hold anything
            checkpoint, _, revision = checkpoint.partition("@")
        if _is_folder(checkpoint):  # an index remembers it, wherever it is opened from
            checkpoint = os.path.abspath(checkpoint)
        name = cls(checkpoint, revision or None)
        for option in filter(None, options.split(",")):
            key, _, value = option.partition("=")
            try:
                name = replace(name, **{key: _OPTIONS[key](unquote(value))})
            except (KeyError, ValueError):
                known = ", ".join(_DESCRIBED)
                raise EncoderError(
                    f"{option!r} in the encoder {text!r} is none of: {known}"
                ) from None
        return name


def _is_folder(checkpoint: str) -> bool:
    """Not if it could be a name: a folder that happens to be called like one is `./that/folder`."""
    named = checkpoint.startswith("builtin") or HUB_NAME.fullmatch(checkpoint.partition("@")[0])
    return not named and Path(checkpoint).is_dir()


def _one_of(kind: Any) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in get_args(kind):
            raise ValueError(value)
        return value

    return read


def _count(value: str) -> int:
    if not re.fullmatch(r"\d{1,4}", value):
        raise ValueError(value)
    return int(value)


_OPTIONS: dict[str, Callable[[str], Any]] = {
    "base": str,
    "dtype": _one_of(Precision),
    "prompt": _one_of(Prompt),
    "importance": _one_of(Importance),
    "query_prefix": str,
    "query_tokens": _count,
    "max_visual_tokens": _count,
}
_DESCRIBED = (
    *(f"prompt={value}" for value in get_args(Prompt)),
    *(f"importance={value}" for value in get_args(Importance)),
    *(f"dtype={value}" for value in get_args(Precision)),
    "base=<commit>",
    "query_prefix=<text, such as Query%3A%20>",
    "query_tokens=<number>",
    "max_visual_tokens=<number>",
)
