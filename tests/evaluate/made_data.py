"""A data set of our own, small: the sample documents with their questions."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import docpruner
from docpruner.encoders import load_encoder
from docpruner.encoders.registry import Encoder
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.evaluate.measuring.encoded import EncodedData, encode_data

SAMPLES = Path(docpruner.__file__).parent / "samples"


@cache
def builtin() -> Encoder:
    return load_encoder()


def sample_folder(folder: Path) -> Path:
    (folder / "pdfs").mkdir(parents=True)
    for sample in SAMPLES.iterdir():
        shutil.copy(sample, folder if sample.suffix == ".jsonl" else folder / "pdfs")
    return folder


def encoded_samples(folder: Path) -> EncodedData:
    data = load_folder(sample_folder(folder / "samples"))
    return encode_data(data, builtin(), cache=folder / "cache", ocr=False)
