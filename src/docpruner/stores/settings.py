"""What an index knows about itself."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version

from docpruner.codecs import CODEC_NAMES, CodecName, bytes_per_vector
from docpruner.errors import DamagedIndexError, IndexStateError

LATER = {"root": "", "budget": "", "text": True}
"""What the first version did not write, and is written only where it is something else."""


@dataclass(frozen=True)
class Settings:
    """How the vectors of an index were made; two encoders of one name agree."""

    encoder: str
    dim: int
    spec: str
    codec: CodecName = "int8"
    importances: bool = True  # keeps the importance of every patch, also of the pruned ones
    version: str = ""  # of docpruner, when the index was made
    root: str = ""  # that documents are named from; empty if by their whole paths
    budget: str = ""  # that adding keeps to, such as 500MB or 4kB/page; empty if there is none
    text: bool = True  # keeps the words of new pages, to show and to search

    @classmethod
    def new(
        cls,
        encoder: str,
        dim: int,
        spec: str,
        codec: CodecName = "int8",
        importances: bool = True,
        root: str = "",
        budget: str = "",
        text: bool = True,
    ) -> Settings:
        bytes_per_vector(codec, dim)  # refuses a codec that there isn't
        made_by = version("docpruner")
        return cls(encoder, dim, spec, codec, importances, made_by, root, budget, text)

    @property
    def row_bytes(self) -> int:
        return bytes_per_vector(self.codec, self.dim)

    def as_rows(self) -> list[tuple[str, str]]:
        values = asdict(self).items()
        rows = [(name, str(value)) for name, value in values if LATER.get(name) != value]
        return [*rows, ("checksum", _checksum(rows))]

    @classmethod
    def from_rows(cls, rows: list[tuple[str, str]]) -> Settings:
        values = dict(rows)
        checksum = values.pop("checksum", None)
        missing = {field.name for field in fields(cls)} - set(values) - set(LATER)
        if missing:
            raise IndexStateError(f"the index does not say its {', '.join(sorted(missing))}")
        if checksum != _checksum(list(values.items())):
            raise DamagedIndexError(
                "the settings of the index are damaged; restore its catalogue from a copy, or "
                "index the documents again into another folder"
            )
        if values["codec"] not in CODEC_NAMES:
            raise IndexStateError(_newer(values["codec"]))
        return cls(
            encoder=values["encoder"],
            dim=int(values["dim"]),
            spec=values["spec"],
            codec=values["codec"],
            importances=values["importances"] == "True",
            version=values["version"],
            root=values.get("root", ""),
            budget=values.get("budget", ""),
            text=values.get("text", "True") == "True",
        )


def _newer(codec: str) -> str:
    return (
        f"the index stores its vectors in the codec {codec}, which a newer version of docpruner "
        f"wrote and this one, {version('docpruner')}, does not know (it knows "
        f"{', '.join(CODEC_NAMES)}). Upgrade it: pip install --upgrade docpruner"
    )


def _checksum(rows: list[tuple[str, str]]) -> str:
    return f"{zlib.crc32(repr(sorted(map(repr, rows))).encode(errors='surrogatepass')):08x}"
