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
    "none": (1.000, 1.001, 0.996, 1.003, 0.981),
    "docpruner:k=-0.5": (0.994, 0.992, 0.994, 0.997, 1.002),
    "docpruner:k=-0.25": (0.980, 0.978, 0.972, 0.981, 0.977),
    "docpruner:k=0": (0.949, 0.949, 0.949, 0.956, 0.945),
    "docpruner:k=0.25": (0.885, 0.885, 0.880, 0.890, 0.898),
    "docpruner:k=0.5": (0.854, 0.852, 0.852, 0.848, 0.824),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
