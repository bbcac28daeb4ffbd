"""What settings cost, as measured: the share of nDCG@5 that is left.

On mmdocir_mmlb (2,465 pages of 53 PDFs, 318 questions) with the built-in encoder, against the same
pages unpruned in float16. One and a half points are chance. Other encoders and other documents
differ; `docpruner calibrate` measures yours.
"""

from __future__ import annotations

from docpruner.codecs import CodecName

MEASURED_ON = "mmdocir_mmlb with the built-in encoder"

CODECS: tuple[CodecName, ...] = ("float16", "int8", "int4", "int2", "int1")
FRONT = {
    "none": (1.000, 1.000, 0.997, 0.996, 0.977),
    "docpruner:k=-0.5": (0.996, 0.993, 1.004, 0.975, 0.964),
    "docpruner:k=-0.25": (0.978, 0.982, 0.982, 0.971, 0.948),
    "docpruner:k=0": (0.931, 0.931, 0.932, 0.930, 0.906),
    "docpruner:k=0.25": (0.913, 0.913, 0.904, 0.900, 0.887),
    "docpruner:k=0.5": (0.858, 0.858, 0.846, 0.839, 0.844),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
