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
    "none": (1.000, 1.000, 0.993, 0.985, 0.970),
    "docpruner:k=-0.5": (0.988, 0.987, 0.990, 0.985, 0.959),
    "docpruner:k=-0.25": (0.970, 0.974, 0.968, 0.955, 0.944),
    "docpruner:k=0": (0.925, 0.928, 0.924, 0.919, 0.907),
    "docpruner:k=0.25": (0.905, 0.905, 0.901, 0.905, 0.881),
    "docpruner:k=0.5": (0.861, 0.862, 0.864, 0.855, 0.831),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
