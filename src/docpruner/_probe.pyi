from typing import Any

import numpy.typing as npt

Buffer = npt.NDArray[Any]

def gains(
    offsets: Buffer,
    pages: Buffer,
    probed: Buffer,
    worths: Buffer,
    sums: Buffer,
    tokens: int,
    /,
) -> bool: ...
