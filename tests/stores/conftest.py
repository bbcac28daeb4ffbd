"""The store of examples/ as another package would bring it: found by its entry point."""

import sys
import tempfile
from pathlib import Path

import pytest

from stores.qdrant_stand_in import stand_in
from stores.s3_server import s3_server

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def other_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "one_file_store.py").write_bytes((EXAMPLES / "one_file_store.py").read_bytes())
    described = folder / "one_file_store-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: one-file-store\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[docpruner.stores]\none-file = one_file_store:OneFileStore\n"
    )
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("one_file_store", None)


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        server.make_bucket("indexes")
        yield server


@pytest.fixture(scope="session")
def qdrant_port():
    """Of what stands in for a Qdrant server."""
    with stand_in() as port:
        yield port


@pytest.fixture
def fast_folder(tmp_path):
    """In memory where the system has such folders: Qdrant Edge waits for the disk at every turn."""
    shared = Path("/dev/shm")
    if not shared.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)
