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
    codes: Buffer,
    wanted: Buffer,
    floors: Buffer,
    /,
) -> int: ...
def instruction_sets() -> tuple[str, ...]: ...
def best(
    tokens: Buffer,
    rows: Buffer,
    places: Buffer,
    values: Buffer,
    dim: int,
    codec: int,
    first: int,
    last: int,
    isa: str,
    /,
) -> None: ...
def nearest(
    tokens: Buffer,
    biases: Buffer,
    rows: Buffer,
    picks: Buffer,
    places: Buffer,
    values: Buffer,
    dim: int,
    codec: int,
    each: int,
    isa: str,
    /,
) -> None: ...
