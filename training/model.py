"""The encoder in torch: a language model, frozen, and three small heads that are fitted to it.

Word features are means over the word's pieces, so everything behind them is small:
- vectors: a linear map of the last hidden states beside the word's own input embedding
  (what was written, not only what it means here), to 256 dimensions, normalised;
- importance: the attention of the global token ([CLS]) in the last layer. As in Longformer the
  global token has query and key maps of its own, which start as copies of the layer's, so that it
  can be trained to sum up the page without moving any vector;
- query weights: how much a word of a query counts in MaxSim, its rarity times a trained factor.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import BertModel

DIM = 256
HEADS = 12
HIDDEN = 384


class Features(NamedTuple):
    """Of a batch of windows; words are padded with zeros."""

    written: Tensor  # (batch, words, hidden): output of the embedding layer
    before: Tensor  # (batch, words, hidden): input of the last layer
    last: Tensor  # (batch, words, hidden)
    before_global: Tensor  # (batch, hidden)


class Backbone(nn.Module):
    """The language model up to word features. `pool` (batch, words, pieces) says which pieces make
    a word."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(
            folder, add_pooling_layer=False, attn_implementation="eager"
        ).eval()

    def forward(self, ids: Tensor, mask: Tensor, pool: Tensor) -> Features:
        hidden = self.bert.embeddings(input_ids=ids)
        written = hidden
        bias = (1.0 - mask.to(hidden.dtype))[:, None, None, :] * -10000.0
        before = hidden
        for layer in self.bert.encoder.layer:
            before = hidden
            output = layer(hidden, attention_mask=bias)
            hidden = output[0] if isinstance(output, tuple) else output
        words = [pool @ states for states in (written, before, hidden)]
        return Features(*words, before[:, 0])


class Heads(nn.Module):
    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        attention = backbone.bert.encoder.layer[-1].attention.self
        self.global_query = copy.deepcopy(attention.query)
        self.global_key = copy.deepcopy(attention.key)
        self.project = nn.Linear(2 * HIDDEN, DIM, bias=False)
        self.weigh = nn.Linear(2 * HIDDEN, 1)
        # Scales of the two inputs, so that PCA and training see comparable sizes.
        self.register_buffer("scales", torch.ones(2))
        self.register_buffer("centre", torch.zeros(2 * HIDDEN))

    def inputs(self, last: Tensor, written: Tensor) -> Tensor:
        both = torch.cat([last * self.scales[0], written * self.scales[1]], dim=-1)
        return both - self.centre

    def vectors(self, features: Features) -> Tensor:
        projected = self.project(self.inputs(features.last, features.written))
        return nn.functional.normalize(projected, dim=-1, eps=1e-6)

    def weights(self, features: Features) -> Tensor:
        """Factors of query words, (batch, words), from 0 to 2; a word's rarity is the other."""
        raw = self.weigh(self.inputs(features.last, features.written)).squeeze(-1)
        return 2.0 * torch.sigmoid(raw)

    def logits(self, features: Features) -> Tensor:
        """Of the global token's attention to each word, (batch, heads, words)."""
        batch, words, _ = features.before.shape
        query = self.global_query(features.before_global).view(batch, HEADS, 1, -1)
        key = self.global_key(features.before).view(batch, words, HEADS, -1).transpose(1, 2)
        return (query * key).sum(-1) / (HIDDEN // HEADS) ** 0.5


class Model(nn.Module):
    """What is exported: vectors (batch, words, 256), importance and query weights (batch, words).

    Importance is the global token's attention, mean over the heads, times the number of words that
    the window gives, so that 1 is an average word of the window.
    """

    def __init__(self, backbone: Backbone, heads: Heads) -> None:
        super().__init__()
        self.backbone, self.heads = backbone, heads

    def forward(self, ids: Tensor, mask: Tensor, pool: Tensor) -> tuple[Tensor, ...]:
        features = self.backbone(ids, mask, pool)
        real = (pool.sum(-1) > 0).to(pool.dtype)  # (batch, words)
        logits = self.heads.logits(features) + (real[:, None] - 1.0) * 10000.0
        attention = torch.softmax(logits, -1).mean(1)
        importance = attention * real.sum(-1, keepdim=True)
        return self.heads.vectors(features), importance, self.heads.weights(features)
