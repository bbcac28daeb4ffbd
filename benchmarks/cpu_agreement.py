"""Whether another CPU gives the same vectors: the built-in encoder here and on an emulated one.

    python benchmarks/cpu_agreement.py [--cpu Haswell]

Needs qemu-x86_64 (Debian: apt-get install qemu-user). A Haswell has AVX2, but neither VNNI nor
AVX-512. Emulation takes a minute or so. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TEXT = (
    "Total revenue of the Northern segment rose by 12 % to 412 million crowns in the third quarter "
    "of 2023, mainly because freight rates were higher than a year before and two vessels returned "
    "from the yard. Part KX-4071-B was recalled on 14 March. Umsatz, 東京 and Москва too. "
    "The board proposes a dividend of 2.50 a share; see note 7 on page 31 for how it is computed."
)


def encode(path: Path) -> None:
    """In this process, whatever CPU it is on."""
    from docpruner.encoders.builtin import BuiltinEncoder
    from docpruner.types import Page, Word

    words = tuple(Word(text, (0.1, 0.1, 0.2, 0.12)) for text in TEXT.split())
    page = Page("page", _not_drawn, words)
    (found,) = BuiltinEncoder(threads=1).encode_pages([page])
    np.savez(path, vectors=found.vectors, importance=found.importance)


def _not_drawn() -> object:
    raise ValueError("its words are enough")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", default="Haswell")
    parser.add_argument("--encode", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.encode:
        encode(options.encode)
        return
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder, "here.npz"), Path(folder, "there.npz")
        command = [os.path.realpath(sys.executable), __file__, "--encode"]
        packages = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path[1:]))}
        subprocess.run([*command, here], check=True, env=packages)
        emulated = ["qemu-x86_64", "-cpu", options.cpu, *command, there]
        subprocess.run(emulated, check=True, env=packages, stderr=subprocess.DEVNULL)
        one, other = np.load(here), np.load(there)
        cosines = (one["vectors"] * other["vectors"]).sum(1)
        cosines /= np.linalg.norm(one["vectors"], axis=1) * np.linalg.norm(other["vectors"], axis=1)
        ratios = other["importance"] / one["importance"]
    print(f"{len(cosines)} words, this CPU and {options.cpu}")
    print(f"cosine of their vectors: {cosines.min():.6f} at least, {cosines.mean():.6f} on average")
    print(f"importance there / here: {ratios.min():.4f} to {ratios.max():.4f}")
    print(json.dumps({"words": len(cosines), "cpu": options.cpu, "least": float(cosines.min())}))


if __name__ == "__main__":
    main()
