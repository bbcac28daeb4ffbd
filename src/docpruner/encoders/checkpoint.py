"""Reading what a checkpoint says of itself, from a local folder or the Hugging Face cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from safetensors import safe_open

from docpruner.errors import EncoderError


def find_file(name: str, file: str, revision: str | None = None) -> Path | None:
    """Where a checkpoint's file is, downloaded if need be; None if it has no such file."""
    folder = Path(name)
    if folder.is_dir():
        return folder / file if (folder / file).exists() else None
    try:
        return Path(hf_hub_download(name, file, revision=revision))
    except (EntryNotFoundError, LocalEntryNotFoundError, OfflineModeIsEnabled):
        return None
    except GatedRepoError:
        raise EncoderError(
            f"{name} is gated: accept its terms on its page, then run: hf auth login"
        ) from None
    except (RepositoryNotFoundError, HFValidationError):
        raise EncoderError(
            f"no model {name!r}: neither a local folder nor a repository that can be read here"
        ) from None
    except (HfHubHTTPError, OSError) as error:
        raise EncoderError(f"{name} can't be fetched: {error}; try: hf download {name}") from error


def read_json(name: str, file: str, revision: str | None = None) -> dict[str, Any] | None:
    path = find_file(name, file, revision)
    if path is None:
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EncoderError(f"{path} is not JSON: {error}; download the model again") from None
    return content


def base_and_config(name: str, revision: str | None = None) -> tuple[str, dict[str, Any]]:
    """The checkpoint whose weights count, and its configuration.

    A LoRA adapter, as most ColVision models are published, points to the model it adapts.
    """
    adapter = read_json(name, "adapter_config.json", revision)
    base = name if adapter is None else str(adapter["base_model_name_or_path"])
    config = read_json(base, "config.json", revision if adapter is None else None)
    if config is None:
        whose = "" if base == name else f", which {name} adapts,"
        raise EncoderError(
            f"{base}{whose} has no config.json here: not downloaded yet, or not a model. "
            f"With a network, run: hf download {base}"
        )
    return base, config


def tensor_names(name: str, revision: str | None = None) -> set[str]:
    """Names of the tensors in a checkpoint's safetensors files; empty if it has none."""
    index = read_json(name, "model.safetensors.index.json", revision)
    if index is not None:
        return set(index["weight_map"])
    path = find_file(name, "model.safetensors", revision)
    if path is None:
        return set()
    with safe_open(path, framework="numpy") as tensors:
        return set(tensors.keys())
