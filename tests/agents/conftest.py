from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

pytest.importorskip("mcp", reason="needs the mcp extra")

from mcp import Client, StdioServerParameters

import docpruner
from docpruner.facade import Index

SAMPLES = Path(docpruner.__file__).parent / "samples"
T = TypeVar("T")
Work = Callable[[Client], Awaitable[T]]


@pytest.fixture(scope="session")
def samples_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the sample documents, by the built-in encoder; not to be changed."""
    folder = tmp_path_factory.mktemp("agents") / "samples.idx"
    with Index.create(folder) as index:
        index.add(SAMPLES, ocr=False, metadata={"year": "2024"})
    return folder


def command(index: Path, *options: str, env: dict[str, str] | None = None) -> StdioServerParameters:
    """As the configuration of a client names it."""
    source = str(Path(docpruner.__file__).parent.parent)
    return StdioServerParameters(
        command=sys.executable,
        args=["-W", "error", "-m", "docpruner", "mcp", str(index), *options],
        env={"PYTHONPATH": os.pathsep.join([source]), **(env or {})},
    )


def asked(server: Any, work: Work[T], **options: Any) -> T:
    """What comes out of a session with a server."""

    async def session() -> T:
        with anyio.fail_after(60):
            async with Client(server, **options) as client:
                return await work(client)

    return anyio.run(session)


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
