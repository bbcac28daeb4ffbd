"""Halve the index of ColPali-style document search, by the model's own attention."""

from docpruner.reduce import Reducer, reducer
from docpruner.types import SPECIAL, PageEmbedding, Reduction

__all__ = ["SPECIAL", "PageEmbedding", "Reducer", "Reduction", "reducer"]
