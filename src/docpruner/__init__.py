"""Halve the index of ColPali-style document search, by the model's own attention."""

from docpruner.facade import Index
from docpruner.reduce import Reducer, reducer
from docpruner.types import SPECIAL, Hit, PageEmbedding, Reduction

__all__ = ["SPECIAL", "Hit", "Index", "PageEmbedding", "Reducer", "Reduction", "reducer"]
