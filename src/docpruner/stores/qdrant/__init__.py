"""An index in Qdrant: pages are points with multivectors, and the engine ranks them by MaxSim.

    qdrant://host:6333/name     a server; qdrant+https:// with TLS
    qdrant+edge:///folder       Qdrant's engine in this process (Qdrant Edge)

Qdrant has no transactions over several points, so points say from which commit to which they hold,
and one point, the head, says which commit is the last: see `history`.
"""
