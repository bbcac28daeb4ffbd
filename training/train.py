"""Fit the heads to the mined features: vectors, then query weights, then the global attention.

    python training/train.py CACHE

Writes CACHE/heads.pt. One thread, a few minutes, the same result for the same seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from data import Mined, load
from model import DIM, Backbone, Features, Heads
from torch import Tensor
from torch.nn import functional

SEED = 4
WRITTEN = 0.4  # size of the input embedding beside the last hidden state
STEPS, BLOCKS, RATE, STAY = 500, 8, 5e-4, 0.02
ATTENTION_STEPS, ATTENTION_PAGES, ATTENTION_RATE = 300, 24, 3e-4
HIDDEN_SOURCE = 0.5  # how often a query must find its page without the words it was made of
HELD_OUT_PAGES = 96
ATTENDED = ("before", "before_global")
SHARP = 0.03  # temperature of "this word answers that query word"


def start(heads: Heads, mined: Mined) -> None:
    """Vectors: a PCA of the pages' words, rare words counting more. Query weights: rarity alone."""
    pages = mined.pages
    last = torch.from_numpy(pages.arrays["last"]).float()
    written = torch.from_numpy(pages.arrays["written"]).float()
    idf = torch.from_numpy(pages.rarity).float()
    centred = [part - part.mean(0) for part in (last, written)]
    sizes = [part.norm(dim=1).mean() for part in centred]
    heads.scales.copy_(torch.stack([1 / sizes[0], WRITTEN / sizes[1]]))
    heads.centre.zero_()
    heads.centre.copy_(heads.inputs(last, written).mean(0))
    inputs = heads.inputs(last, written)
    covariance = (inputs * idf[:, None]).T @ inputs / idf.sum()
    directions = torch.linalg.eigh(covariance).eigenvectors
    heads.project.weight.requires_grad_(False)
    heads.project.weight.data.copy_(directions[:, -DIM:].T)
    heads.weigh.weight.data.zero_()
    heads.weigh.bias.data.zero_()


def best_words(heads: Heads, mined: Mined, queries: np.ndarray, pages: np.ndarray,
               hide: Tensor, keep: Tensor | None = None) -> Tensor:  # fmt: skip
    """Scores (queries, pages), each a weighted mean of cosines. `hide` marks queries whose own
    page (of the same row) is searched without the words they were made of."""
    query, _ = mined.queries.gather(queries)
    page, page_real = mined.pages.gather(pages)
    sims = torch.einsum("qtd,pwd->qptw", heads.vectors(query), heads.vectors(page))
    kept = page_real if keep is None else page_real & keep
    sims = sims.masked_fill(~kept[None, :, None], -1.0)
    row = torch.arange(len(queries))
    source = mined.source_mask(queries, sims.shape[-1]) & hide[:, None]
    own = sims[row, row].masked_fill(source[:, None], -1.0)
    best = sims.amax(-1)
    same = torch.eye(len(queries), len(pages), dtype=torch.bool)
    best = torch.where(same[..., None], own.amax(-1)[:, None], best)
    weights = heads.weights(query) * mined.queries.rarities(queries)
    weights = weights / weights.sum(1, keepdim=True)
    return torch.einsum("qpt,qt->qp", best, weights)


def one_query_each(mined: Mined, pages: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    return np.array([chance.choice(mined.queries_of[page]) for page in pages])


@torch.no_grad()
def held_out_rank(heads: Heads, mined: Mined, kept_share: float = 1.0) -> float:
    """Mean reciprocal rank on held-out documents, sources hidden, at most `HELD_OUT_PAGES`; with
    `kept_share` only the words that the global token looks at most."""
    pages = mined.held_out[:HELD_OUT_PAGES]
    queries = one_query_each(mined, pages, np.random.default_rng(SEED))
    keep = None
    if kept_share < 1:
        features, real = mined.pages.gather(pages, ATTENDED)
        attention = global_attention(heads, features, real)
        order = attention.argsort(descending=True).argsort()
        keep = order < (real.sum(1, keepdim=True) * kept_share)
    hide = torch.ones(len(pages), dtype=torch.bool)
    scores = best_words(heads, mined, queries, pages, hide, keep)
    ranks = (scores > scores.diagonal()[:, None]).sum(1) + 1
    return float((1 / ranks).mean())


def train_weights(heads: Heads, mined: Mined) -> None:
    chance = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    scale = torch.nn.Parameter(torch.tensor(3.4))
    trained = [heads.weigh.weight, heads.weigh.bias, scale]
    optimiser = torch.optim.Adam(trained, lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, STEPS)
    for step in range(STEPS):
        if step % 100 == 0:
            print(f"weights {step}: held-out MRR {held_out_rank(heads, mined):.4f}", flush=True)
        starts = chance.choice(len(mined.training) - 4, BLOCKS, replace=False)
        pages = np.unique(mined.training[(starts[:, None] + np.arange(4)).ravel()])
        queries = one_query_each(mined, pages, chance)
        hide = torch.from_numpy(chance.random(len(pages)) < HIDDEN_SOURCE)
        scores = best_words(heads, mined, queries, pages, hide) * scale.exp()
        loss = functional.cross_entropy(scores, torch.arange(len(pages)))
        loss = loss + STAY * heads.weigh.weight.square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    print(f"weights {STEPS}: held-out MRR {held_out_rank(heads, mined):.4f}", flush=True)


@torch.no_grad()
def answers(heads: Heads, mined: Mined, pages: np.ndarray) -> Tensor:
    """For each word of each page the share of the page's queries that it answers: a query word is
    answered by the words nearest to it, and counts by its weight. Half of the share is counted
    without the words that the query was made of."""
    features, real = mined.pages.gather(pages)
    vectors = heads.vectors(features)
    shares = torch.zeros(real.shape)
    for row, page in enumerate(pages):
        queries = mined.queries_of[page]
        query, _ = mined.queries.gather(queries)
        sims = heads.vectors(query) @ vectors[row].T  # (queries, tokens, words)
        sims = sims.masked_fill(~real[row], -torch.inf)
        source = mined.source_mask(queries, sims.shape[-1])
        hidden = sims.masked_fill(source[:, None], -1.0).masked_fill(~real[row], -torch.inf)
        won = torch.softmax(sims / SHARP, -1) + torch.softmax(hidden / SHARP, -1)
        weights = heads.weights(query) * mined.queries.rarities(queries)
        weights = weights / weights.sum(1, keepdim=True)
        shares[row] = torch.einsum("qtw,qt->w", won, weights)
    return shares / shares.sum(1, keepdim=True)


def global_attention(heads: Heads, features: Features, real: Tensor) -> Tensor:
    logits = heads.logits(features).masked_fill(~real[:, None], -torch.inf)
    return torch.softmax(logits, -1).mean(1)


def train_attention(heads: Heads, mined: Mined) -> None:
    chance = np.random.default_rng(SEED)
    wanted = {int(page): answers(heads, mined, np.array([page]))[0]
              for page in np.concatenate([mined.training, mined.held_out])}  # fmt: skip

    def loss_of(pages: np.ndarray) -> Tensor:
        features, real = mined.pages.gather(pages, ATTENDED)
        attention = global_attention(heads, features, real).clamp(min=1e-9)
        target = torch.zeros(real.shape)
        for row, page in enumerate(pages):
            target[row, : len(wanted[int(page)])] = wanted[int(page)]
        return -(target * attention.log()).sum(1).mean()

    trained = [*heads.global_query.parameters(), *heads.global_key.parameters()]
    optimiser = torch.optim.AdamW(trained, lr=ATTENTION_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, ATTENTION_STEPS)
    for step in range(ATTENTION_STEPS + 1):
        if step % 100 == 0:
            with torch.no_grad():
                held_out = float(loss_of(mined.held_out[:HELD_OUT_PAGES]))
            ranks = [f"{held_out_rank(heads, mined, share):.4f}" for share in (1, 0.5, 0.3, 0.15)]
            print(f"attention {step}: held-out loss {held_out:.4f}, MRR with 100/50/30/15 % of "
                  f"the words {ranks}", flush=True)  # fmt: skip
        loss = loss_of(chance.choice(mined.training, ATTENTION_PAGES, replace=False))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()


def main(cache: Path) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    mined = load(cache / "features.npz")
    heads = Heads(Backbone(cache / "backbone"))
    with torch.no_grad():
        start(heads, mined)
    train_weights(heads, mined)
    train_attention(heads, mined)
    torch.save(heads.state_dict(), cache / "heads.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
