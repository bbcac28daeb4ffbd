"""What stored text costs, what each way to search finds, and how the weight of text was chosen.

    python benchmarks/text_fusion.py DATA INDEX

DATA is a folder as `docpruner evaluate` takes it, INDEX is made from its PDFs if it is not there.
The weight is chosen by cross-validation: the questions about a tenth of the documents are scored
with the weight that was best for the others. The last line is JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from docpruner import Index
from docpruner.evaluate.data.own_folder import load_folder
from docpruner.search.hybrid import CANDIDATES, TEXT_WEIGHT
from docpruner.types import Filter

WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
FOLDS = 10
RANK_CONSTANT = 60  # of reciprocal ranks
Fusion = Callable[[np.ndarray, np.ndarray, float], np.ndarray]  # scores of one question's pages


def standardised(vectors: np.ndarray, text: np.ndarray, weight: float) -> np.ndarray:
    """As `docpruner.search.hybrid` does it."""
    first, said = (scores >= np.sort(scores)[-CANDIDATES:][0] for scores in (vectors, text))
    chosen = first | (said & (text > 0))
    text = np.where(said, text, 0)
    parts = [(s - s[chosen].mean()) / max(s[chosen].std(), 1e-9) for s in (vectors, text)]
    return np.where(chosen, (1 - weight) * parts[0] + weight * parts[1], -np.inf)


def reciprocal_ranks(vectors: np.ndarray, text: np.ndarray, weight: float) -> np.ndarray:
    ranks = [1 + np.argsort(np.argsort(-s, kind="stable"), kind="stable") for s in (vectors, text)]
    return (1 - weight) / (RANK_CONSTANT + ranks[0]) + weight / (RANK_CONSTANT + ranks[1])


class Measured:
    """Scores of every page for every question, both ways; and nDCG@5 of any others."""

    def __init__(self, folder: Path, index: Index) -> None:
        data = load_folder(folder)
        self.texts = [query.text for query in data.judged]
        with index.reader() as reader:
            pages = sorted(reader.pages())
            place = {f"{Path(p.document).name}#{p.number}": n for n, p in enumerate(pages)}
            at = {page: n for n, page in enumerate(pages)}
            scans = {at[page] for page in pages if reader.page(*page).words_from == "ocr"}
            self.vectors = np.zeros((len(self.texts), len(pages)), np.float32)
            self.text = np.zeros_like(self.vectors)
            asked = [question.vectors for question in index._questions(self.texts)]
            by_vectors = reader.rank(asked, len(pages), Filter())
            by_text = [reader.rank_text(text, len(pages), Filter()) for text in self.texts]
            for scores, ranked in ((self.vectors, by_vectors), (self.text, by_text)):
                for row, best in zip(scores, ranked, strict=True):
                    row[[at[page.name] for page in best]] = [page.score for page in best]
        qrels = [data.qrels[query.id] for query in data.judged]
        self.right = [{place[Path(p).name] for p, grade in q.items() if grade} for q in qrels]
        documents = [pages[min(right)].document for right in self.right]
        numbers = {name: n % FOLDS for n, name in enumerate(sorted(set(documents)))}
        self.fold = np.array([numbers[name] for name in documents])
        self.about_scans = np.array([any(page in scans for page in right) for right in self.right])

    def ndcg(self, scores: np.ndarray) -> np.ndarray:
        """Of each question."""
        gains = 1 / np.log2(np.arange(2, 7))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :5]
        found = [
            [p in right for p in row] for row, right in zip(best.tolist(), self.right, strict=True)
        ]
        ideal = [gains[: len(right)].sum() for right in self.right]
        return (np.array(found) * gains).sum(axis=1) / ideal

    def fused(self, fuse: Fusion, weight: float) -> np.ndarray:
        both = zip(self.vectors, self.text, strict=True)
        return self.ndcg(np.array([fuse(vectors, text, weight) for vectors, text in both]))

    def validated(self, fuse: Fusion) -> dict[str, object]:
        values = np.array([self.fused(fuse, weight) for weight in WEIGHTS])
        held_out, chosen = np.empty(len(self.right)), []
        for fold in range(FOLDS):
            out = self.fold == fold
            best = int(values[:, ~out].mean(axis=1).argmax())
            held_out[out] = values[best, out]
            chosen.append(WEIGHTS[best])
        base = self.ndcg(self.vectors)
        return {
            "cross-validated": float(held_out.mean()),
            "gain": float((held_out - base).mean()),
            "interval": interval(held_out - base),
            "chosen": chosen,
            "by weight": dict(zip(WEIGHTS, values.mean(axis=1).round(4).tolist(), strict=True)),
        }


def interval(values: np.ndarray) -> list[float]:
    """95 %, by resampling questions."""
    rows = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    return np.quantile(values[rows].mean(axis=1), [0.025, 0.975]).round(4).tolist()


def main(folder: Path, location: Path) -> None:
    warnings.simplefilter("ignore")  # pages without words
    with Index.open_or_create(location) as index:
        if not len(index):
            index.add(folder / "pdfs")
        stats = index.stats()
        with index.reader() as reader:
            stored = [reader.page(*name) for name in reader.pages()]
        packed = sum(len(page.text.packed) for page in stored if page is not None)
        measured = Measured(folder, index)
    found = {
        "vectors": measured.ndcg(measured.vectors),
        "text": measured.ndcg(measured.text),
        "hybrid": measured.fused(standardised, TEXT_WEIGHT),
    }
    scans = measured.about_scans
    better = {
        name: {
            "better": int((found["hybrid"][which] > found["vectors"][which] + 1e-9).sum()),
            "worse": int((found["hybrid"][which] < found["vectors"][which] - 1e-9).sum()),
        }
        for name, which in (("all", scans | True), ("about scans", scans))
    }
    fusions = {
        "standardised scores": measured.validated(standardised),
        "reciprocal ranks": measured.validated(reciprocal_ranks),
    }
    result = {
        "pages": stats.pages,
        "questions": len(measured.texts),
        "bytes a page": {
            "vectors": stats.bytes_of_vectors / stats.pages,
            "text": packed / stats.pages,
            "full-text index": (stats.bytes_of_text - packed) / stats.pages,
            "all": (stats.bytes_of_vectors + stats.bytes_besides) / stats.pages,
        },
        "questions about scans": int(scans.sum()),
        "ndcg@5": {
            mode: {
                "all": float(values.mean()),
                **({"about scans": float(values[scans].mean())} if scans.any() else {}),
                "others": float(values[~scans].mean()),
            }
            for mode, values in found.items()
        },
        "hybrid answers": better,
        **fusions,
    }
    for name, size in result["bytes a page"].items():
        print(f"{size:9,.0f} bytes a page: {name}")
    for mode, by_kind in result["ndcg@5"].items():
        values = ", ".join(f"{value:.4f} ({kind})" for kind, value in by_kind.items())
        print(f"   {values} nDCG@5 by {mode}")
    print(f"          hybrid answers: {better}")
    for name, told in fusions.items():
        value, gain, within = told["cross-validated"], told["gain"], told["interval"]
        print(f"{value:9.4f} nDCG@5 by {name}, cross-validated ({gain:+.4f}, 95 % {within})")
        print(f"          by weight: {told['by weight']}")
    print(json.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
