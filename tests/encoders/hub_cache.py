"""The cache of the Hugging Face Hub as `hf download` leaves it, made by hand."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def commit_of(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def put(cache: Path, repository: str, files: Path, *, commit: str, branch: str | None) -> None:
    """Files of one commit: blobs under their hash, links to them in the snapshot."""
    folder = cache / f"models--{repository.replace('/', '--')}"
    for source in files.rglob("*"):
        if not source.is_file():
            continue
        blob = folder / "blobs" / hashlib.sha256(source.read_bytes()).hexdigest()
        blob.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, blob)
        link = folder / "snapshots" / commit / source.relative_to(files)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    if branch is not None:
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / branch).write_text(commit)


@contextmanager
def offline(cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        yield
