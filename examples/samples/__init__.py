"""The documents that `examples/make_samples.py` writes, one module each.

Everything in them is invented: organisations, people, places and figures.
"""
