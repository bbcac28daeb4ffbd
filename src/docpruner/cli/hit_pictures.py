"""Pictures of hits, their matches lit, in a folder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from docpruner.cli.output import print_warning
from docpruner.cli.picture_files import file_stem, save_picture
from docpruner.errors import DocPrunerError, PageError
from docpruner.explain import hit_picture
from docpruner.hits import Hit


@dataclass
class Pictures:
    """Those that were saved, by document and page, and why there are no more of them."""

    saved: dict[tuple[str, int], Path] = field(default_factory=dict)
    failure: DocPrunerError | None = None

    @classmethod
    def of(cls, hits: Sequence[Hit], folder: Path | None) -> Pictures:
        """Draw hits, into a temporary folder if none is given. Without its file, a hit has none."""
        pictures = cls()
        if not hits:
            return pictures
        folder = folder or Path(tempfile.mkdtemp(prefix="docpruner-"))
        try:
            for rank, hit in enumerate(hits, 1):
                path = folder / f"{rank:02d}-{file_stem(hit.document)}-p{hit.page}.png"
                try:
                    picture = hit_picture(hit)
                except PageError as problem:
                    print_warning(f"no picture of {hit.name}: {problem}")
                    continue
                save_picture(picture, path)
                pictures.saved[hit.document, hit.page] = path
        except OSError as error:
            pictures.failure = DocPrunerError(
                f"no pictures can be saved in {folder} ({error.strerror}); choose another folder"
            )
        return pictures

    def path(self, hit: Hit) -> str | None:
        path = self.saved.get((hit.document, hit.page))
        return None if path is None else str(path)
