"""Metadata of documents as it is given: one for all, by name, by a function, or in a CSV file."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from docpruner.errors import MetadataError
from docpruner.pipeline.missing_pages import MetadataOf
from docpruner.types import JsonValue, Metadata

GivenMetadata: TypeAlias = (
    Metadata | Mapping[str, Metadata] | Callable[[str], Metadata | None] | str | os.PathLike[str]
)
"""A mapping for all documents, or mappings by their names; a function of the name; or the path of
a CSV file whose first column is the name."""


def metadata_of(given: GivenMetadata | None) -> MetadataOf | None:
    """What is given, as a function of a document's name; MetadataError for what can't be stored."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return _by_name(read_csv(Path(given)))
    if not isinstance(given, Mapping):
        ask = given
        return lambda name: _checked(ask(name), name)
    if given and all(isinstance(values, Mapping) for values in given.values()):
        return _by_name({name: _checked(values, name) or {} for name, values in given.items()})
    values = _checked(given, "all documents")
    return lambda name: values  # noqa: ARG005


def read_csv(path: Path) -> dict[str, Metadata]:
    """Rows by their first column, which names a document as a filter does; empty cells say
    nothing."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise MetadataError(f"{path} can't be read ({error.strerror})") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise MetadataError(f"{path} is not a CSV file in UTF-8 ({error})") from None
    if not rows or len(rows[0]) < 2:
        raise MetadataError(f"{path} has no metadata; its first row names the columns: path,year,…")
    _, *keys = rows[0]
    metadata: dict[str, Metadata] = {}
    for number, row in enumerate(rows[1:], 2):
        if not any(row):
            continue
        if len(row) != len(keys) + 1:
            raise MetadataError(
                f"{path}, line {number}: {len(row)} cells, expected {len(keys) + 1}"
            )
        metadata[row[0]] = {k: cell for k, cell in zip(keys, row[1:], strict=True) if cell}
    return metadata


def _by_name(metadata: Mapping[str, Metadata]) -> MetadataOf:
    """By a document's whole name or the last parts of it, the longest first."""

    def of(name: str) -> Metadata | None:
        if name in metadata:
            return metadata[name]
        parts = name.split("/")
        ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
        return next((metadata[end] for end in ends if end in metadata), None)

    return of


def _checked(metadata: object, name: str) -> Metadata | None:
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise MetadataError(f"metadata of {name} is {metadata!r}; give a mapping, or None")
    return {_key(key, name): _value(value, f"{key} of {name}") for key, value in metadata.items()}


def _key(key: object, name: str) -> str:
    if not isinstance(key, str) or not key.strip():
        raise MetadataError(f"metadata of {name}: the key {key!r} is not text")
    return key


def _value(value: object, where: str) -> JsonValue:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, Sequence):
        return [_value(each, where) for each in value]
    raise MetadataError(
        f"metadata {where} is {value!r}; give text, a number, true or false, or a list of these"
    )
