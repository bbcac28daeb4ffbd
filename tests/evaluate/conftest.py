from __future__ import annotations

import pytest

from docpruner.evaluate.measuring.encoded import EncodedData
from evaluate.made_data import encoded_samples


@pytest.fixture(scope="session")
def samples(tmp_path_factory) -> EncodedData:
    return encoded_samples(tmp_path_factory.mktemp("evaluate"))
