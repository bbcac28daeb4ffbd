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
    "none": (1.000, 1.000, 0.995, 0.980, 0.992),
    "docpruner:k=-0.5": (1.001, 1.000, 1.000, 0.979, 1.002),
    "docpruner:k=-0.25": (0.997, 0.998, 0.993, 0.974, 0.969),
    "docpruner:k=0": (0.957, 0.960, 0.957, 0.950, 0.946),
    "docpruner:k=0.25": (0.901, 0.901, 0.904, 0.910, 0.906),
    "docpruner:k=0.5": (0.882, 0.882, 0.879, 0.878, 0.873),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
