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
    "none": (1.000, 0.997, 1.003, 0.988, 0.969),
    "docpruner:k=-0.5": (0.994, 0.994, 0.996, 0.967, 0.951),
    "docpruner:k=-0.25": (0.964, 0.968, 0.965, 0.952, 0.943),
    "docpruner:k=0": (0.918, 0.920, 0.927, 0.917, 0.918),
    "docpruner:k=0.25": (0.900, 0.899, 0.896, 0.901, 0.873),
    "docpruner:k=0.5": (0.862, 0.863, 0.860, 0.834, 0.822),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
