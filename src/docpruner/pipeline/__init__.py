"""Joins the stages: files become pages, vectors, fewer vectors, rows of an index."""
