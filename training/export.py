"""Write the artefact that is shipped: int8 ONNX, tokenizer, their hashes.

python training/export.py CACHE FOLDER
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import torch
from backbone import bert
from features import export
from model import DIM, Backbone, Heads, Model

from docpruner.encoders.builtin import NAME

OUTPUTS = ("vectors", "importance", "weights")


def main(cache: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    backbone = Backbone(bert(cache))
    heads = Heads(backbone)
    heads.load_state_dict(torch.load(cache / "heads.pt"))
    export(Model(backbone, heads), OUTPUTS, folder / f"{NAME}.onnx")
    shutil.copy(cache / "rarity.tsv", folder / "rarity.tsv")
    files = (f"{NAME}.onnx", "tokenizer.json", "rarity.tsv")
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    description = {"name": NAME, "dim": DIM, "sha256": hashes}
    (folder / f"{NAME}.json").write_text(json.dumps(description, indent=2) + "\n")
    size = sum((folder / name).stat().st_size for name in files) / 1e6
    print(f"{folder}: {size:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
