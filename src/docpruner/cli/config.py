"""The file that `calibrate --write` leaves for `index --config`: encoder, spec and codec."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from docpruner.errors import DocPrunerError

KEYS = ("encoder", "spec", "codec")


def write_config(path: Path, values: Mapping[str, str], why: str) -> None:
    """TOML, of which JSON's strings are a part."""
    lines = [f"{key} = {json.dumps(values[key])}" for key in KEYS]
    try:
        path.write_text("\n".join([f"# {why}", *lines, ""]), encoding="utf-8")
    except OSError as error:
        raise DocPrunerError(f"{path} can't be written ({error.strerror})") from error


def read_config(path: Path) -> dict[str, str]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DocPrunerError(f"{path} can't be read ({error.strerror})") from None
    except ValueError as error:  # TOML's and UTF-8's
        raise DocPrunerError(f"{path} is not a TOML file: {error}") from None
    if set(values) - set(KEYS) or not all(isinstance(value, str) for value in values.values()):
        raise DocPrunerError(f"{path} must hold encoder, spec and codec, each as text, no more")
    return values
