"""Halve the index of ColPali-style document search, by the model's own attention."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from docpruner import errors
from docpruner.errors import DocPrunerError

if TYPE_CHECKING:
    from docpruner.encoders.registry import load_encoder
    from docpruner.facade import Index
    from docpruner.hits import Hit, Match
    from docpruner.pipeline.add_report import AddReport
    from docpruner.reduce import Reducer, reducer
    from docpruner.types import SPECIAL, PageEmbedding, Reduction

    __version__: str

__all__ = [
    "SPECIAL",
    "AddReport",
    "DocPrunerError",
    "Hit",
    "Index",
    "Match",
    "PageEmbedding",
    "Reducer",
    "Reduction",
    "__version__",
    "errors",
    "load_encoder",
    "reducer",
]

_WHERE = {
    "AddReport": "pipeline.add_report",
    "Hit": "hits",
    "Index": "facade",
    "Match": "hits",
    "PageEmbedding": "types",
    "Reducer": "reduce",
    "Reduction": "types",
    "SPECIAL": "types",
    "load_encoder": "encoders.registry",
    "reducer": "reduce",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used, so that `docpruner --help` needs no numpy."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("docpruner")
    elif name in _WHERE:
        value = getattr(import_module(f"docpruner.{_WHERE[name]}"), name)
    else:
        raise AttributeError(f"module 'docpruner' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
