"""What an encoder is, and how one is found by its name."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from docpruner.encoders.builtin_editions import EDITIONS, NEWEST
from docpruner.encoders.encoder_name import Attention, EncoderName, Importance, Reads
from docpruner.encoders.encoder_plugins import load_plugin, plugin_names
from docpruner.errors import EncoderError, MissingExtraError
from docpruner.types import FloatArray, Page, PageEmbedding, Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Attention", "Encoder", "EncoderName", "Importance", "Reads", "load_encoder"]


class Encoder(Protocol):
    """Turns pages into `PageEmbedding`s and queries into token vectors of the same space."""

    @property
    def name(self) -> str:
        """The full description, as it is saved in an index; two encoders of one name agree."""
        ...

    @property
    def dim(self) -> int: ...

    @property
    def prompt(self) -> Prompt: ...

    @property
    def reads(self) -> Reads:
        """What it sees of a page: its words, or its picture."""
        ...

    @property
    def pixels(self) -> int | None:
        """How large a picture of a page it makes use of; None if it reads words."""
        ...

    def query_words(self, text: str) -> list[str]:
        """For each vector of a query the piece of text it stands for."""
        ...

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]: ...

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        """The vectors of pages alone, as without pruning: to measure what importance costs."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        """For each text its token vectors, (tokens, dim)."""
        ...


def load_encoder(
    name: str = "builtin",
    *,
    device: str | None = None,
    dtype: str | None = None,
    batch_size: int | None = None,
    revision: str | None = None,
    prompt: Prompt | None = None,
    importance: Importance | None = None,
    query_prefix: str | None = None,
    query_tokens: int | None = None,
    attention: Attention | None = None,
    max_visual_tokens: int | None = None,
    trust_remote_code: bool = False,
) -> Encoder:
    """Load an encoder: the built-in one, or that of a Hugging Face repository or a local folder.

    What is given here overrides what the name says, and is recorded in the encoder's own name.
    Device, precision and batch size are chosen by what the machine has; the precision that a name
    says is kept where there is a GPU.

    query_prefix, query_tokens: what is written before a query, and how many augmentation tokens
        after it; by default what the model's family was trained with.
    attention: the model's kernels: "sdpa", "flash" (flash-attn, on CUDA) or "eager"; by default
        flash where it is installed, else what the model chooses.
    max_visual_tokens: vectors that a page may have at most; by default as the processor says.
    trust_remote_code: lets a model (Jina v4) run code from its repository.
    """
    wanted = EncoderName.read(name)
    given = {
        "revision": revision,
        "prompt": prompt,
        "importance": importance,
        "query_prefix": query_prefix,
        "query_tokens": query_tokens,
        "max_visual_tokens": max_visual_tokens,
    }
    wanted = replace(wanted, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
    if wanted.is_builtin:
        return _builtin(wanted)
    if wanted.is_endpoint:
        from docpruner.encoders.endpoint import EndpointEncoder

        return EndpointEncoder(name)
    if not wanted.is_on_the_hub and not Path(wanted.checkpoint).is_dir():
        other = load_plugin(str(wanted), wanted.checkpoint)
        if other is not None:
            return other
        known = "".join(f", {plugin}" for plugin in plugin_names())
        raise EncoderError(
            f"no encoder {name!r}; give builtin{known}, a Hugging Face repository such as "
            "vidore/colqwen2.5-v0.2, or a folder with a model"
        )
    if wanted.is_on_the_hub and Path(wanted.checkpoint).is_dir():
        warnings.warn(
            f"{wanted.checkpoint} is taken for the repository of that name on the Hugging Face "
            f"Hub; for the folder write ./{wanted.checkpoint}",
            UserWarning,
            stacklevel=2,
        )
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        raise MissingExtraError(f"the encoder {name}", "vlm")
    from docpruner.encoders.checkpoint import model_files
    from docpruner.encoders.families import FAMILIES
    from docpruner.encoders.jina import is_jina, load_jina
    from docpruner.encoders.runtime import best_device

    files = model_files(wanted)
    if dtype is None and wanted.dtype != "float32" and (device or best_device()) != "cpu":
        dtype = wanted.dtype
    if is_jina(files.config):
        return load_jina(
            wanted,
            files,
            device=device,
            dtype=dtype,
            batch_size=batch_size,
            attention=attention,
            trust_remote_code=trust_remote_code,
        )
    from docpruner.encoders.colvision_loading import NoProjectionError, load_colvision

    in_modules = files.checkpoint.has("modules.json")
    try:
        if files.config.get("model_type") in FAMILIES or not in_modules:
            return load_colvision(
                wanted,
                files,
                device=device,
                dtype=dtype,
                batch_size=batch_size,
                attention=attention,
            )
    except NoProjectionError:  # sentence-transformers keeps it in a module of its own
        if not in_modules:
            raise
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"the encoder {name}", "st")
    from docpruner.encoders.multi_vector import load_multi_vector

    return load_multi_vector(
        wanted,
        files,
        device=device,
        dtype=dtype,
        batch_size=batch_size,
        attention=attention,
        trust_remote_code=trust_remote_code,
    )


def _builtin(name: EncoderName) -> Encoder:
    from docpruner.encoders.builtin import BuiltinEncoder

    edition = NEWEST.name if str(name) == "builtin" else str(name)
    if edition not in EDITIONS:
        others = ", ".join(known for known in EDITIONS if known != NEWEST.name)
        raise EncoderError(
            f"no encoder {name}: the built-in one is {NEWEST.name} (there are also {others}), "
            "and has no options"
        )
    return BuiltinEncoder(edition)
