"""What settings cost, as measured: the share of nDCG@5 that is left.

On mmdocir_mmlb (2,465 pages of 53 PDFs, 318 questions) with the built-in encoder, against the same
pages unpruned in float16. One and a half points are chance. Other encoders and other documents
differ; `docpruner calibrate` measures yours.
"""

from __future__ import annotations

from docpruner.codecs import CodecName

MEASURED_ON = "mmdocir_mmlb with the built-in encoder"

FRONT: dict[str, dict[CodecName, float]] = {
    "none": {
        "float32": 1.0,
        "float16": 1.0,
        "int8": 1.0,
        "int4": 0.988,
        "int2": 0.998,
        "int1": 0.990,
    },
    "docpruner:k=-0.5": {"int8": 0.993, "int4": 0.986, "int2": 0.983, "int1": 0.998},
    "docpruner:k=-0.25": {"int8": 0.979, "int4": 0.981, "int2": 0.977, "int1": 0.980},
    "docpruner:k=0": {"int8": 0.951, "int4": 0.958, "int2": 0.935, "int1": 0.944},
}


def ndcg_kept(spec: str, codec: CodecName) -> float | None:
    """None for what was not measured."""
    return FRONT.get(spec, {}).get(codec)
