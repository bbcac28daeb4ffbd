"""Halve the index of ColPali-style document search, by the model's own attention."""

from importlib.metadata import version

from docpruner import errors
from docpruner.encoders.registry import load_encoder
from docpruner.errors import DocPrunerError
from docpruner.facade import Index
from docpruner.hits import Hit, Match
from docpruner.pipeline.add_report import AddReport
from docpruner.reduce import Reducer, reducer
from docpruner.types import SPECIAL, PageEmbedding, Reduction

__version__ = version("docpruner")

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
