"""The figures of an index as the API describes them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from docpruner.errors import EncoderError
from docpruner.facade import Index
from docpruner.web.names import last_part
from docpruner.web.options import ServerOptions
from docpruner.web.schemas import IndexSettings, StatsResponse


def stats_response(index: Index, options: ServerOptions) -> StatsResponse:
    stats = index.stats()
    settings = stats.settings
    named = asdict(settings) | {"encoder": _without_folders(settings.encoder)}
    return StatsResponse(
        **asdict(stats) | {"settings": IndexSettings(**named)},
        name=last_part(index.location),
        row_bytes=settings.row_bytes,
        changes_allowed=options.allow_changes,
        searches_pictures=_sees(index),
        max_upload=options.max_upload,
        max_files=options.max_files,
    )


def _sees(index: Index) -> bool:
    try:
        return index.reads == "pixels"
    except EncoderError:  # there is no such encoder here: nothing can be searched by
        return False


def _without_folders(encoder: str) -> str:
    """A model in a folder by the folder's name; others have no path to hide."""
    return Path(encoder).name if Path(encoder).is_absolute() else encoder
