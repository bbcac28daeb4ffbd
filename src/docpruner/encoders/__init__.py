"""Encoders: pages and queries to vectors. Importing this loads no model and no torch."""

from docpruner.encoders.registry import Encoder, load_encoder

__all__ = ["Encoder", "load_encoder"]
