"""Files as the body of an upload."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from docpruner.errors import PageError


def upload_form(paths: Sequence[str]) -> tuple[bytes, str]:
    """A `multipart/form-data` body with these files, and its content type."""
    if not paths:
        raise PageError("(nothing)", "no file was given", "give one or several files to add")
    boundary = secrets.token_hex(16)
    parts = []
    for path in paths:
        name = os.path.basename(path).translate({ord('"'): "%22", 10: "%0A", 13: "%0D"})
        header = f'Content-Disposition: form-data; name="files"; filename="{name}"'
        start = f"--{boundary}\r\n{header}\r\nContent-Type: application/octet-stream\r\n\r\n"
        parts += [start.encode(errors="replace"), _content(path), b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except IsADirectoryError:
        raise PageError(path, "is a folder", "give the files in it") from None
    except OSError as error:
        reason = f"can't be read ({(error.strerror or str(error)).lower()})"
        raise PageError(path, reason, "check its path and permissions") from None
