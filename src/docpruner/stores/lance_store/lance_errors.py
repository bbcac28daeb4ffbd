"""Whatever goes wrong in Lance, in our words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from docpruner.errors import (
    DamagedIndexError,
    DocPrunerError,
    IndexStateError,
    IndexWriteError,
)

UNWRITABLE = ("No space left", "Permission denied", "Read-only file", "Not a directory")

_PLACE_IN_RUST = re.compile(r",? ?/[\w./-]+\.rs:\d+:\d+")
_CODE_OF_S3 = re.compile(r"<Code>(\w+)</Code>")


def is_s3(location: str) -> bool:
    return location.lower().startswith("lance+s3://")


class ConflictError(Exception):
    """Somebody else has changed the table since it was read."""


@contextmanager
def lance_errors(location: str) -> Iterator[None]:
    """Whatever Lance raises, as an error that says what to do."""
    try:
        yield
    except (DocPrunerError, ConflictError, MemoryError):
        raise
    except Exception as error:
        raise _in_our_words(location, str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust: bytes that it did not expect
            raise
        raise _in_our_words(location, str(error)) from error


def _in_our_words(location: str, said: str) -> DocPrunerError:
    code = _CODE_OF_S3.search(said)
    reason = " ".join(_PLACE_IN_RUST.sub("", said).split()).rpartition(" - ")[2][:300]
    reason = reason if code is None else code[1]
    if "NoSuchBucket" in said:
        bucket = location.partition("://")[2].partition("/")[0]
        return IndexStateError(
            f"{location}: there is no bucket {bucket}{_endpoint()}; make it, or correct the name"
        )
    if any(code in said for code in ("403 Forbidden", "401 Unauthorized", "AccessDenied")):
        return IndexStateError(
            f"{location} refuses access{_endpoint()} ({reason}); check AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY and AWS_REGION"
        )
    if is_s3(location) and "Not Found" not in said and "S3 error" in said:
        return IndexStateError(
            f"{location} can't be reached{_endpoint()} ({reason}); check the server and the "
            "network, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. What was "
            "committed is safe: run again"
        )
    if any(text in said for text in UNWRITABLE):
        return IndexWriteError(
            f"{location} can't be written ({reason}). What was committed before is safe; make "
            "room, or choose another place"
        )
    if "not found" in said.casefold():
        return IndexStateError(
            f"{location}: a file is gone ({reason}). If the index was compacted meanwhile, try "
            "again; else restore it from a copy, or index the documents again into another"
        )
    return DamagedIndexError(
        f"{location} can't be read ({reason}); run: docpruner verify {location}, or restore it "
        "from a copy"
    )


def _endpoint() -> str:
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    return f" at {endpoint}" if endpoint else ""
