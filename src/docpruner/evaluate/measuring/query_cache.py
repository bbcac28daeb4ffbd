"""The vectors of queries in a file, which follows the queries as they change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from docpruner.encoders.registry import Encoder
from docpruner.types import FloatArray

Vectors = dict[str, FloatArray]  # of each text


def encoded_queries(texts: Sequence[str], encoder: Encoder, path: Path) -> list[FloatArray]:
    """Of each text its vectors; only those that the file lacks are encoded.

    The file then holds these texts and no others.
    """
    stored = _load(path)
    new = [text for text in dict.fromkeys(texts) if text not in stored]
    known = stored | (dict(zip(new, encoder.encode_queries(new), strict=True)) if new else {})
    vectors = {text: known[text] for text in texts}
    if vectors.keys() != stored.keys():
        _save(vectors, path)
    return [vectors[text] for text in texts]


def _load(path: Path) -> Vectors:
    """Nothing, if the file is not there or can't be read: what it holds can be made again."""
    try:
        with np.load(path) as stored:
            texts = json.loads(str(stored["texts"]))
            parts = np.split(stored["vectors"], np.cumsum(stored["counts"])[:-1])
        return dict(zip(texts, parts, strict=True))
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return {}


def _save(vectors: Mapping[str, FloatArray], path: Path) -> None:
    draft = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    np.savez(
        draft,
        texts=np.array(json.dumps(list(vectors))),
        vectors=np.concatenate(list(vectors.values())),
        counts=np.array([len(query) for query in vectors.values()]),
    )
    draft.replace(path)
