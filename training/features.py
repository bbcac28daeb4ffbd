"""The int8 backbone as it will be shipped, and its word features, which the heads are trained on.

    python training/features.py CACHE

Training on what the quantised model really gives costs nothing and lets the heads make up for its
rounding. Writes CACHE/backbone.onnx and CACHE/features.npz (float16).
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from model import Backbone
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from docpruner.encoders.builtin_rarity import Rarity, bare
from docpruner.encoders.builtin_windows import Batch, Windows, stack

SEED = 4
PAGES = 1600
QUERIES_OF_A_PAGE = 8
NAMES = ("written", "before", "last", "before_global")
AXES = {"ids": {0: "batch", 1: "pieces"}, "mask": {0: "batch", 1: "pieces"},
        "pool": {0: "batch", 1: "words", 2: "pieces"}}  # fmt: skip


def tokenizer(cache: Path) -> Tokenizer:
    return Tokenizer.from_file(str(cache / "backbone" / "tokenizer.json"))


def export(model: torch.nn.Module, names: Sequence[str], path: Path) -> None:
    """Write an ONNX that computes in int8: the matrices of the layers have one scale for each
    column, what is multiplied with them is rounded as it comes; the embedding table has a scale
    for each row, and its numbers are restored.

    Weights have seven bits (`reduce_range`): CPUs without VNNI add up products in sixteen bits,
    which eight could overflow, and then vectors would depend on the CPU.
    """
    example = (
        torch.randint(1000, 20000, (2, 16)),
        torch.ones(2, 16, dtype=torch.long),
        torch.eye(16)[None, 1:6].repeat(2, 1, 1),
    )
    full = path.with_suffix(".float.onnx")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(), example, str(full), dynamo=False, opset_version=17,
            input_names=list(AXES), output_names=list(names), dynamic_axes=AXES,
        )  # fmt: skip
    graph = onnx.load(full).graph
    constant = {tensor.name for tensor in graph.initializer}
    multiplied = [node for node in graph.node if node.op_type == "MatMul" and "layer" in node.name]
    layers = [node.name for node in multiplied if node.input[1] in constant]
    quantize_dynamic(
        full, path, nodes_to_quantize=layers, per_channel=True, reduce_range=True,
        weight_type=QuantType.QInt8,
    )  # fmt: skip
    full.unlink()
    small = onnx.load(path)
    for node in list(small.graph.node):
        if node.op_type == "Gather":
            _round_table(small.graph, node)
    used = {name for node in small.graph.node for name in node.input}
    for tensor in list(small.graph.initializer):
        if tensor.name not in used:
            small.graph.initializer.remove(tensor)
    onnx.save(small, path)


def _round_table(graph: onnx.GraphProto, node: onnx.NodeProto) -> None:
    """Store the node's constant table in int8, in front of a DequantizeLinear."""
    stored = {tensor.name: tensor for tensor in graph.initializer}
    tensor = stored.get(node.input[0])
    if tensor is None or len(tensor.dims) != 2 or tensor.data_type != onnx.TensorProto.FLOAT:
        return
    values = onnx.numpy_helper.to_array(tensor)
    scale = np.maximum(np.abs(values).max(axis=1), 1e-12).astype(np.float32) / 127
    rounded = np.rint(values / scale[:, None]).astype(np.int8)
    names = [f"{tensor.name}.{part}" for part in ("int8", "scale", "float")]
    graph.initializer.append(onnx.numpy_helper.from_array(rounded, names[0]))
    graph.initializer.append(onnx.numpy_helper.from_array(scale, names[1]))
    graph.node.insert(0, onnx.helper.make_node("DequantizeLinear", names[:2], names[2:], axis=0))
    node.input[0] = names[2]


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # as the encoder does
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def features(model: onnxruntime.InferenceSession, batch: Batch) -> list[np.ndarray]:
    return model.run(NAMES, {"ids": batch.ids, "mask": batch.mask, "pool": batch.pool})


class Flat:
    """Ragged word features: one long array for each name, and where each text begins."""

    def __init__(self) -> None:
        self.parts: dict[str, list[np.ndarray]] = {name: [] for name in NAMES}

    def add(self, found: Sequence[np.ndarray], row: int, words: int) -> None:
        for name, values in zip(NAMES, found, strict=True):
            part = values[row : row + 1] if name.endswith("global") else values[row, :words]
            self.parts[name].append(part.astype(np.float16))

    def arrays(self, prefix: str) -> dict[str, np.ndarray]:
        lengths = [len(part) for part in self.parts["last"]]
        joined = {f"{prefix}_{name}": np.concatenate(part) for name, part in self.parts.items()}
        return joined | {f"{prefix}_offsets": np.concatenate([[0], np.cumsum(lengths)])}


def seen_on_pages(pages: Iterable[Sequence[str]]) -> tuple[Counter[str], int]:
    """On how many pages each word stands, and how many pages there are."""
    seen: Counter[str] = Counter()
    count = 0
    for words in pages:
        count += 1
        seen.update({bare(word) for word in words} - {""})
    return seen, count


def main(cache: Path) -> None:
    chance = random.Random(SEED)
    windows = Windows(tokenizer(cache))
    pages = [json.loads(line) for line in (cache / "mined.jsonl").open()]
    rarity = Rarity(*seen_on_pages(page["words"] for page in pages))
    (cache / "rarity.tsv").write_text(rarity.written())
    export(Backbone(cache / "backbone"), NAMES, cache / "backbone.onnx")
    model = session(cache / "backbone.onnx")
    start = chance.randrange(4)  # whole blocks of neighbours
    blocks = [pages[i : i + 4] for i in range(start, len(pages), 4)]
    picked_blocks = chance.sample(blocks, min(PAGES // 4, len(blocks)))
    chosen = [page for block in picked_blocks for page in block]
    page_flat, query_flat = Flat(), Flat()
    page_rarity: list[float] = []
    query_rarity: list[float] = []
    rows: list[tuple[int, int, int, int]] = []  # window, first and last word of the source, kind
    documents: list[str] = []
    for page in chosen:
        window = chance.choice(windows.cut(page["words"]))
        inside = [q for q in page["queries"] if overlaps(q["source"], window.words)]
        if not inside or window.words[1] - window.words[0] < 30:
            continue
        first = window.words[0]
        page_flat.add(features(model, stack([window])), 0, len(window.pool))
        page_rarity += map(rarity, page["words"][slice(*window.words)])
        picked = chance.sample(inside, min(len(inside), QUERIES_OF_A_PAGE))
        batch = [windows.cut(q["text"].split())[0] for q in picked]
        found = features(model, stack(batch))
        for row, (query, window_) in enumerate(zip(picked, batch, strict=True)):
            query_flat.add(found, row, len(window_.pool))
            query_rarity += map(rarity, query["text"].split())
            a, b = (position - first for position in query["source"])
            rows.append((len(documents), a, b, KINDS.index(query["kind"])))
        documents.append(page["document"])
        if len(documents) % 200 == 0:
            print(len(documents), flush=True)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(documents))}
    np.savez(
        cache / "features.npz", **page_flat.arrays("page"), **query_flat.arrays("query"),
        rows=np.array(rows), documents=np.array([numbers[name] for name in documents]),
        page_rarity=np.array(page_rarity), query_rarity=np.array(query_rarity),
    )  # fmt: skip
    print(f"{len(documents)} windows of {len(numbers)} documents, {len(rows)} queries")


KINDS = ("heading", "caption", "sentence", "question")


def overlaps(source: Sequence[int], words: tuple[int, int]) -> bool:
    """The query was made of words that this window owns."""
    return source[0] >= words[0] and source[1] <= words[1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
