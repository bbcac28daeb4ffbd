"""The local store: a folder with an SQLite catalogue and append-only files of vectors.

    catalogue.sqlite    documents, pages, provenance, settings: the only commit point
    segments/*.rows     encoded vectors, one fixed-width row each, memory-mapped by readers
    writer.lock         held by the one process that writes

Rows are written and flushed first; one SQLite transaction then makes them visible. Whatever lies
past the last committed row is ignored by readers and cut off by the next writer.
"""
