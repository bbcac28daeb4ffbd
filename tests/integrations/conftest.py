"""Sets torch up as for the encoders' tests; and an index for those that retrieve."""

import shutil
from pathlib import Path

import pytest

import docpruner
import encoders.conftest  # noqa: F401  # for what its import does
from docpruner import Index

SAMPLES = Path(docpruner.__file__).parent / "samples"


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two documents and an index of them; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("shelf")
    for name in ("annual-report.pdf", "travel-expense-form.pdf"):
        shutil.copy(SAMPLES / name, folder)
    with Index.create(folder / "two.idx") as index:
        index.add(folder, metadata={"year": 2024})
    return folder


@pytest.fixture(scope="session")
def gone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that has no words stored, of a file that is gone."""
    folder = tmp_path_factory.mktemp("gone")
    form = shutil.copy(SAMPLES / "travel-expense-form.pdf", folder)
    with Index.create(folder / "gone.idx", text=False) as index:
        index.add(form)
    Path(form).unlink()
    return folder / "gone.idx"
