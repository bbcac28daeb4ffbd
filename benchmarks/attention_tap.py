"""What importance costs: a plain pass, the same with the tap, and eager `output_attentions=True`.

A ColQwen2.5 of 12 decoder layers with random weights encodes two pages of about 730 patches, one a
little shorter and so padded. Eager attention is how the paper reads importance: every layer's full
matrix is computed and kept. Tap and eager must agree on the importance, or nothing is reported.

The three take turns and the best round of each counts, in seconds of the processor on one thread,
so that other work on the machine weighs little. Peaks are what one pass adds to the memory of a
fresh process. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from torchvision_on_cpu import make_torchvision_importable

if TYPE_CHECKING:
    from torch import Tensor

    from docpruner.encoders.tap import ImportanceTap

WAYS = {
    "plain": "sdpa, no importance",
    "tap": "sdpa with importance_tap",
    "eager": "eager, output_attentions=True",
}
ORDERS = [("plain", "tap", "eager"), ("tap", "plain", "eager")]  # what runs after eager is slower
TARGET = 1.02  # × plain
AGREEMENT = 1e-6

GRIDS = [(26, 28), (24, 30)]  # patches of each page
MERGE = 2  # patches of the vision tower per side of one of the decoder's
PIXELS = 3 * 2 * 14 * 14  # of a patch of the vision tower: colours, frames, height, width
BEFORE, AFTER = 4, 7  # tokens of the prompt around the patches
WORDS, IMAGE, PADDING, OTHER = 100, 100, 101, 102  # ids: words come first
LAYERS, HIDDEN, HEADS = 12, 512, 8

EXAMPLE = """\
example:
  pip install -r benchmarks/requirements.txt
  python benchmarks/attention_tap.py --rounds 15
"""


@dataclass(frozen=True)
class Encoding:
    """A model, two pages and three ways to encode them."""

    model: Any
    batch: dict[str, Tensor]
    tap: Callable[..., AbstractContextManager[ImportanceTap]]

    def prepare(self, way: str) -> None:
        self.model.set_attn_implementation("eager" if way == "eager" else "sdpa")

    def run(self, way: str) -> Tensor | None:
        """One pass; returns the importance that it found."""
        import torch

        with torch.inference_mode():
            return {"plain": self._plain, "tap": self._tapped, "eager": self._eager}[way]()

    def _plain(self) -> None:
        self.model(**self.batch)

    def _tapped(self) -> Tensor:
        with self.tap(self.model) as tap:
            self.model(**self.batch)
        return tap.importance

    def _eager(self) -> Tensor:
        """The model drops the attentions that its decoder returns: take them from the decoder."""
        kept: list[Any] = []
        decoder = self.model.get_decoder()
        with decoder.register_forward_hook(lambda *call: kept.extend(call[-1].attentions)):
            self.model(**self.batch, output_attentions=True)
        pages, length = self.batch["input_ids"].shape
        if [layer.shape for layer in kept] != [(pages, HEADS, length, length)] * LAYERS:
            raise SystemExit("the eager pass did not return the attention of every layer")
        return kept[-1][:, :, -1].mean(1)


def encoding() -> Encoding:
    make_torchvision_importable()
    import torch

    from docpruner.encoders.tap import importance_tap

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return Encoding(random_model(), two_pages(), importance_tap)


def random_model() -> Any:
    from colpali_engine.models import ColQwen2_5
    from transformers import Qwen2_5_VLConfig

    text = {
        "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 2,
        "vocab_size": OTHER + 3,
        "bos_token_id": None,
        "eos_token_id": None,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [8, 12, 12],
        },
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 2,
        "fullatt_block_indexes": [1],
        "out_hidden_size": HIDDEN,
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=IMAGE,
        video_token_id=OTHER,
        vision_start_token_id=OTHER + 1,
        vision_end_token_id=OTHER + 2,
    )
    return ColQwen2_5(config).eval()


def two_pages() -> dict[str, Tensor]:
    """What the processor would make of two pages, padded on the left."""
    import torch

    counts = [rows * columns for rows, columns in GRIDS]
    ids = torch.full((len(GRIDS), BEFORE + max(counts) + AFTER), PADDING)
    for page, count in zip(ids, counts, strict=True):
        real = page[-(BEFORE + count + AFTER) :]
        real[:] = torch.randint(0, WORDS, real.shape)
        real[BEFORE:-AFTER] = IMAGE
    return {
        "input_ids": ids,
        "attention_mask": (ids != PADDING).long(),
        "mm_token_type_ids": (ids == IMAGE).long(),
        "pixel_values": torch.randn(len(GRIDS), MERGE**2 * max(counts), PIXELS),
        "image_grid_thw": torch.tensor([(1, MERGE * r, MERGE * c) for r, c in GRIDS]),
    }


def best_of_rounds(passes: Encoding, rounds: int) -> dict[str, float]:
    """Seconds of the fastest pass of each way. The first round only warms up and compares."""
    best = dict.fromkeys(WAYS, math.inf)
    found: dict[str, Tensor | None] = {}
    for turn in range(rounds + 1):
        for way in ORDERS[turn % 2]:
            passes.prepare(way)
            start = time.process_time()
            found[way] = passes.run(way)
            taken = time.process_time() - start
            best[way] = min(best[way], taken) if turn else math.inf
        difference = float((found["tap"] - found["eager"]).abs().max())
        if not difference < AGREEMENT:
            raise SystemExit(f"tap and eager attention are {difference:.1g} apart")
    return best


def peak_of_one_pass(way: str) -> float:
    """MB that the pass adds to the highest memory use so far of this process."""
    passes = encoding()
    passes.prepare(way)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    passes.run(way)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def peaks_in_fresh_processes() -> dict[str, float]:
    """Before this process grows: a child's highest use starts at that of its parent.

    Each tensor gets pages of its own, given back at once: what the allocator keeps varies by 40 MB.
    """
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    found = {}
    for way in WAYS:
        command = [sys.executable, __file__, "--peak", way]
        answer = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=environment
        )
        found[way] = float(answer.stdout)
    return found


def table(best: dict[str, float], peaks: dict[str, float]) -> Table:
    patches = " + ".join(str(rows * columns) for rows, columns in GRIDS)
    shown = Table(title=f"{LAYERS} layers, two pages of {patches} patches")
    shown.add_column("pass")
    for heading in ("s", "× plain", "peak, MB"):
        shown.add_column(heading, justify="right")
    for way, name in WAYS.items():
        ratio = best[way] / best["plain"]
        style = "red" if way == "tap" and ratio > TARGET else ""
        shown.add_row(name, f"{best[way]:.3f}", f"{ratio:.3f}", f"{peaks[way]:.0f}", style=style)
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="passes of each kind (%(default)s)")
    parser.add_argument("--peak", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rounds < 5:
        parser.error(f"--rounds {arguments.rounds}: at least five")
    if arguments.peak:
        print(peak_of_one_pass(arguments.peak))
        return
    peaks = peaks_in_fresh_processes()
    best = best_of_rounds(encoding(), arguments.rounds)
    Console().print(table(best, peaks))
    ratios = {f"{way}_over_plain": best[way] / best["plain"] for way in ("tap", "eager")}
    seconds = {f"{way}_s": best[way] for way in WAYS}
    megabytes = {f"{way}_peak_mb": peaks[way] for way in WAYS}
    figures = seconds | ratios | megabytes
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
