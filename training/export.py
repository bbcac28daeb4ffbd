"""Write the artefacts that are shipped: int8 ONNX, tokenizer, rarities, and their hashes.

python training/export.py CACHE FOLDER
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import torch
from features import export
from model import DIM, Backbone, Heads, Model

from docpruner.encoders.builtin_editions import V2

OUTPUTS = ("vectors", "importance", "weights")


def main(cache: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    backbone = Backbone(cache / "backbone")
    heads = Heads(backbone)
    heads.load_state_dict(torch.load(cache / "heads.pt"))
    export(Model(backbone, heads), OUTPUTS, folder / V2.model_file)
    shutil.copy(cache / "rarity-v2.tsv", folder / V2.rarity_file)
    files = (V2.model_file, "tokenizer.json", V2.rarity_file)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    description = {"name": V2.name, "dim": DIM, "sha256": hashes}
    (folder / f"{V2.name}.json").write_text(json.dumps(description, indent=2) + "\n")
    size = sum((folder / name).stat().st_size for name in files) / 1e6
    print(f"{V2.name}: {size:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
