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
    "none": (1.000, 1.003, 0.997, 0.980, 0.950),
    "docpruner:k=-0.5": (0.985, 0.985, 0.994, 0.978, 0.950),
    "docpruner:k=-0.25": (0.972, 0.972, 0.976, 0.960, 0.943),
    "docpruner:k=0": (0.940, 0.942, 0.943, 0.937, 0.928),
    "docpruner:k=0.25": (0.866, 0.866, 0.870, 0.867, 0.856),
    "docpruner:k=0.5": (0.775, 0.775, 0.781, 0.775, 0.777),
}
"""By spec, in the order of the codecs."""


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    if spec not in FRONT or codec not in CODECS:
        return None
    return FRONT[spec][CODECS.index(codec)]
