"""Every error a user can meet, in one tree.

DocPrunerError
├── PageError            a file, or a page of it, that can't be read
├── OcrError             tesseract, or a language of it, is missing, or it has failed
├── AddError             nothing could be added, or not all where all was asked for
├── InvalidPageError     a page's arrays don't fit together
├── SpecError            a reduction spec names something that doesn't exist
├── ReductionError       a page lacks what a strategy needs
├── CodecError           vectors that a codec can't store, bytes it can't read
├── ScoringError         queries and corpus that can't be scored
├── FilterError          a filter of a search that can't be understood
├── MetadataError        metadata of documents that can't be stored
├── TapError             a model whose attention can't be read
├── EncoderError         a model that can't be loaded, or a page it can't encode
├── IndexStateError      an index that is not there, or of another kind
│   ├── IndexBusyError   somebody else is writing to it
│   ├── MissingShardsError  a part of it does not answer
│   ├── IndexWriteError  its disk is full, or can't be written to
│   ├── IndexClosedError it was closed
│   └── TextSearchError  it can't be searched by text
├── DamagedIndexError    an index whose files are damaged
├── BudgetError          a budget that can't be read, or can't be met
├── ExportError          a file that an index can't be exported to
├── DeviceError          a process that encodes on a device has failed
├── ClusterError         a cluster that can't be joined, or whose workers have failed
├── DataError            data to measure on that can't be used
├── ServerError          a server that can't be reached, or refuses what it was asked
└── MissingExtraError    an optional dependency is not installed

PruningWarning           a threshold pruned nothing, or everything
NoWordsWarning           a page without words, which the built-in encoder can't read
DamageWarning            a part of an index that can't be searched
MissingShardsWarning     an answer from fewer than all shards of an index
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class DocPrunerError(Exception):
    """Base of all errors raised by docpruner on purpose."""


class PageError(DocPrunerError, ValueError):
    """A file, or a page of it, that can't be read: an entry in the report of a run."""

    def __init__(self, path: str, reason: str, remedy: str, page: int | None = None) -> None:
        where = path if page is None else f"{path}#{page}"
        super().__init__(f"{where}: {reason}; {remedy}")
        self.path, self.page, self.reason, self.remedy = path, page, reason, remedy

    def __reduce__(self) -> tuple[type[PageError], tuple[str, str, str, int | None]]:
        """It may come from another process, where exceptions are made again of their arguments."""
        return type(self), (self.path, self.reason, self.remedy, self.page)


class OcrError(DocPrunerError, RuntimeError):
    """tesseract, or a language of it, is missing, or it has failed on a page."""


class AddError(DocPrunerError, ValueError):
    """Documents that could not be added; `report` says what was, and every problem."""

    def __init__(self, problems: Sequence[PageError], report: Any) -> None:
        more = f" (and {len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")
        self.report = report


class InvalidPageError(DocPrunerError, ValueError):
    """The arrays of a page don't fit together."""


class SpecError(DocPrunerError, ValueError):
    """A reduction spec that can't be understood."""


class ReductionError(DocPrunerError, ValueError):
    """A page that lacks what a strategy needs."""


class CodecError(DocPrunerError, ValueError):
    """Vectors that a codec can't store, or bytes that it can't read."""


class ScoringError(DocPrunerError, ValueError):
    """Queries and corpus that can't be scored against each other."""


class FilterError(DocPrunerError, ValueError):
    """A filter of a search that can't be understood."""


class MetadataError(DocPrunerError, ValueError):
    """Metadata of documents that can't be read or stored."""


class TapError(DocPrunerError, RuntimeError):
    """A model whose attention can't be read."""


class EncoderError(DocPrunerError, RuntimeError):
    """A model that can't be loaded, or a page it can't encode."""


class IndexStateError(DocPrunerError, RuntimeError):
    """An index that is not there, of another kind, or not in a state to do what was asked."""


class IndexBusyError(IndexStateError):
    """An index that somebody else is writing to."""

    def __init__(self, location: str, waited: float) -> None:
        super().__init__(
            f"another process is writing to {location} (waited {waited:g} s); let it finish, or "
            "wait longer"
        )


class MissingShardsError(IndexStateError):
    """An index of which some shards don't answer; `shards` are their locations, with reasons."""

    def __init__(self, location: str, shards: Mapping[str, str], of: int) -> None:
        reasons = "; ".join(f"{shard} ({reason})" for shard, reason in shards.items())
        self.shards = dict(shards)
        self.what = f"{len(shards)} of {of} shards of {location} are missing: {reasons}"
        super().__init__(
            f"{self.what}. Bring them back, or search the others with ?partial=1 at the end of "
            "the location"
        )


class IndexWriteError(IndexStateError):
    """An index whose disk is full or can't be written to."""


class IndexClosedError(IndexStateError):
    """An index that was closed."""

    def __init__(self, location: str) -> None:
        super().__init__(f"{location} is closed; open it again")


class TextSearchError(IndexStateError):
    """An index that can't be searched by text: it has no words stored, or Python no FTS5."""


class DamagedIndexError(DocPrunerError, RuntimeError):
    """An index whose files are damaged."""


class BudgetError(DocPrunerError, ValueError):
    """A budget that can't be read, or that no setting meets."""


class ExportError(DocPrunerError, ValueError):
    """A file that an index can't be exported to."""


class DeviceError(DocPrunerError, RuntimeError):
    """A process that encodes on a device has failed, whatever page it was given."""


class ClusterError(DocPrunerError, RuntimeError):
    """A cluster that can't be joined, or whose workers have failed, whatever page they had."""


class DataError(DocPrunerError, ValueError):
    """Data to measure on that can't be used."""


class ServerError(DocPrunerError, RuntimeError):
    """A `docpruner serve` that can't be reached, or refuses what it was asked."""

    def __init__(self, message: str, *, status: int | None = None, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code  # of its answer; None if there was none


class MissingExtraError(DocPrunerError, ImportError):
    """An optional dependency is missing; the message is the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs the "{extra}" extra: pip install "docpruner[{extra}]"')


class PruningWarning(UserWarning):
    """A threshold pruned nothing, or everything, on some page."""


class NoWordsWarning(UserWarning):
    """A page without words can't be found by what it says."""


class DamageWarning(UserWarning):
    """A part of an index can't be searched."""


class MissingShardsWarning(UserWarning):
    """An answer from fewer than all shards of an index."""


class SlowSearchWarning(UserWarning):
    """A large index whose first stage is missing, old or damaged: every page is scored."""
