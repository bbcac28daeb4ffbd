from typing import Any

import numpy.typing as npt

Buffer = npt.NDArray[Any]

def score(
    tokens: Buffer,
    query_offsets: Buffer,
    rows: Buffer,
    spans: Buffer,
    scores: Buffer,
    dim: int,
    codec: int,
    first: int,
    last: int,
    isa: str,
    /,
) -> int: ...
def instruction_sets() -> tuple[str, ...]: ...
