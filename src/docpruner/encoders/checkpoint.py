"""A checkpoint's files, in a local folder or in the cache of the Hugging Face Hub.

Everything is read from a folder, also what comes from the Hub: transformers asks the Hub for each
file by itself, adapter by adapter, and so neither takes two commits for an adapter and its base nor
finds, without a network, what `hf download` left in the cache.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from safetensors import SafetensorError, safe_open

from docpruner.encoders.encoder_name import EncoderName
from docpruner.errors import EncoderError

DESCRIPTION = ["*.json", "*.txt", "*.model", "*.jinja", "*.py"]
WEIGHTS = ["*.safetensors"]
OLDER_WEIGHTS = ["*.bin"]
OTHER_EXPORTS = ["onnx/*", "openvino/*", "original/*"]
INDEX = "model.safetensors.index.json"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a model's files; `commit` is None unless they come from the Hub."""

    name: str
    folder: Path
    commit: str | None = None

    def has(self, *files: str) -> bool:
        return any((self.folder / file).exists() for file in files)

    @property
    def has_weights(self) -> bool:
        """Whether it holds a whole model."""
        return self.has("model.safetensors", INDEX, "pytorch_model.bin")

    def read_json(self, file: str) -> dict[str, Any] | None:
        path = self.folder / file
        if not path.exists():
            return None
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise EncoderError(f"{path} is not JSON: {error}; download the model again") from None
        return content

    def tensors(self) -> dict[str, Shape]:
        """The tensors of its safetensors files and their shapes; empty if it has none."""
        index = self.read_json(INDEX)
        files = sorted(set(index["weight_map"].values())) if index else ["model.safetensors"]
        found: dict[str, Shape] = {}
        for file in files:
            if not self.has(file):
                continue
            try:
                with safe_open(self.folder / file, framework="numpy") as opened:
                    names = opened.keys()
                    found |= {name: tuple(opened.get_slice(name).get_shape()) for name in names}
            except SafetensorError as error:
                raise EncoderError(
                    f"{self.folder / file} can't be read: {error}; download the model again"
                ) from None
        return found


@dataclass(frozen=True)
class ModelFiles:
    """A checkpoint, and the whole model that it adapts; the same if it is no adapter."""

    checkpoint: Checkpoint
    base: Checkpoint
    config: dict[str, Any]  # of the base

    @property
    def is_adapter(self) -> bool:
        return self.checkpoint is not self.base


def model_files(name: EncoderName) -> ModelFiles:
    """The descriptions of a model's files, without its weights.

    A LoRA adapter, as most ColVision models are published, points to the model it adapts. Where it
    says at which commit, that counts, unless the name says another.
    """
    checkpoint = described(name.checkpoint, name.revision)
    adapter = checkpoint.read_json("adapter_config.json")
    base = checkpoint
    if adapter is not None:
        if checkpoint.has_weights:
            raise EncoderError(
                f"{checkpoint.name} holds a whole model and an adapter; move either into a folder "
                "of its own"
            )
        revision = name.base or adapter.get("revision")
        base = described(str(adapter["base_model_name_or_path"]), revision)
    config = base.read_json("config.json")
    if config is None:
        whose = "" if base is checkpoint else f", which {checkpoint.name} adapts,"
        raise EncoderError(
            f"{base.name}{whose} has no config.json here: not downloaded yet, or not a model. "
            f"With a network, run: hf download {base.name}"
        )
    return ModelFiles(checkpoint, base, config)


def described(name: str, revision: str | None = None) -> Checkpoint:
    """A checkpoint's small files: what it is, and how its tokens are made."""
    return _on_disk(name, revision, DESCRIPTION)


def with_weights(checkpoint: Checkpoint) -> Checkpoint:
    """The same with its weights; a folder has them already."""
    if checkpoint.commit is None:
        return checkpoint
    whole = _on_disk(checkpoint.name, checkpoint.commit, WEIGHTS)
    if any(whole.folder.glob("*.safetensors")):
        return whole
    return _on_disk(checkpoint.name, checkpoint.commit, OLDER_WEIGHTS)


def _on_disk(name: str, revision: str | None, patterns: list[str]) -> Checkpoint:
    if not EncoderName(name).is_on_the_hub and Path(name).is_dir():
        return Checkpoint(name, Path(name))
    try:
        folder = Path(
            snapshot_download(
                name, revision=revision, allow_patterns=patterns, ignore_patterns=OTHER_EXPORTS
            )
        )
    except GatedRepoError:
        raise EncoderError(
            f"{name} is gated: accept its terms on its page, then run: hf auth login"
        ) from None
    except RevisionNotFoundError:
        raise EncoderError(f"{name} has no revision {revision}") from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        at = f" --revision {revision}" if revision else ""
        raise EncoderError(
            f"{name}{f'@{revision}' if revision else ''} has no config.json here: it is not in the "
            f"cache, and there is no network. With one, run: hf download {name}{at}"
            f"{_or_a_folder(name)}"
        ) from None
    except (RepositoryNotFoundError, HFValidationError):
        raise EncoderError(
            f"no model {name!r}: neither a local folder nor a repository that can be read here"
            f"{_or_a_folder(name)}"
        ) from None
    except (HfHubHTTPError, OSError) as error:
        raise EncoderError(f"{name} can't be fetched: {error}; try: hf download {name}") from error
    return Checkpoint(name, folder, folder.name)


def _or_a_folder(name: str) -> str:
    return f". For the folder of that name, write ./{name}" if Path(name).is_dir() else ""
