"""Image documents reduced by importance, inside a sentence-transformers `MultiVectorEncoder`.

    model = reduce_documents(MultiVectorEncoder("vidore/colqwen2.5-v0.2"), "docpruner:k=-0.25")
    model.encode_document(images)  # fewer vectors; encode_query stays as it was

Importance exists only while the transformer runs. So there are two parts: a listener at the
transformer writes the importances beside the embeddings, and `PatchReduction`, the model's last
module, reads them. The path of that class stands in every model saved with it: don't move it.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from docpruner.errors import EncoderError, MissingExtraError, ReductionError, SpecError
from docpruner.reduce import Reducer, reducer
from docpruner.types import SPECIAL, PageEmbedding, Reduction

try:
    import torch
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.base.model import BaseModel
    from sentence_transformers.multi_vector_encoder.modules import BaseTokenPooling
    from torch import Tensor
    from torch.nn.utils.rnn import pad_sequence
except ImportError as error:
    raise MissingExtraError("the MultiVectorEncoder module", "st") from error

from docpruner.encoders.document_importance import (
    DocumentPages,
    Features,
    ImportanceListener,
    the_transformer,
)


def reduce_documents(model: MultiVectorEncoder, spec: str = "docpruner") -> MultiVectorEncoder:
    """`model` itself, which from now on reduces the image documents it encodes."""
    reduction = PatchReduction(spec)
    reduction.on_model_ready(model)  # first: a model that is refused stays as it was
    model.append(reduction)
    return model


class PatchReduction(BaseTokenPooling):
    """The last module of a model: reduces image documents, leaves queries and texts alone.

    Special tokens stay, if the model scores them at all.
    """

    config_keys: list[str] = ["spec"]  # noqa: RUF012  # what the base class declares

    def __init__(self, spec: str = "docpruner") -> None:
        super().__init__()
        named = reducer(spec)
        if named.prompt != "default":
            raise SpecError(
                f"{spec!r} is for pages encoded under the {named.prompt} prompt, but a "
                "MultiVectorEncoder has its own page prompt; choose another strategy"
            )
        if named.signal == "centrality":
            raise SpecError(
                f"{spec!r} goes by centrality, which is not read inside a MultiVectorEncoder; "
                "leave signal out"
            )
        self.spec = str(named)
        self._pages: DocumentPages | None = None

    def on_model_ready(self, model: BaseModel) -> None:
        """Models call it when built or loaded, but not in `append`; `reduce_documents` does."""
        earlier = takewhile(lambda module: module is not self, model)
        pooling = [module for module in earlier if isinstance(module, BaseTokenPooling)]
        if pooling:
            raise EncoderError(
                f"the model has a {type(pooling[0]).__name__} already, whose vectors are no longer "
                "patches; PatchReduction comes before it, and once: join two specs by +"
            )
        transformer = the_transformer(model)
        self._pages = DocumentPages.of(transformer)
        ImportanceListener.attach(transformer)

    def forward(self, features: Features, task: str | None = None, **_: Any) -> Features:
        if not self.applies_to(task):
            return features
        if self._pages is None:
            raise EncoderError(_NO_ATTENTION)
        if "pixel_values" not in features:  # texts
            return features
        tokens, vectors = features["input_ids"].shape, features["token_embeddings"].shape
        if "importance" not in features or vectors[:2] != tokens:
            raise EncoderError(_NO_ATTENTION)
        reduce = reducer(self.spec)
        left = [_reduced(features, row, self._pages, reduce) for row in range(tokens[0])]
        return _with_vectors(features, left)

    def pool_one(self, embedding: Tensor, **_: Any) -> Tensor:  # noqa: ARG002  # the base's name
        """Refuses: importance can't be told from embeddings."""
        raise EncoderError(_NO_ATTENTION)


_NO_ATTENTION = (
    "PatchReduction needs the attention of the very pass that made the embeddings: put it into the "
    "model by reduce_documents(model, spec); token_pooling= and .pool() hand over embeddings only"
)


def _reduced(features: Features, row: int, pages: DocumentPages, reduce: Reducer) -> Tensor:
    """The vectors left of one document, in the type and on the device they came in."""
    scored = features["attention_mask"][row].bool()
    vectors: Tensor = features["token_embeddings"][row, scored]
    is_patch = features["input_ids"][row] == pages.image_token
    if not (is_patch & scored).any():
        return vectors
    patches = int(is_patch.sum())
    name = f"image of {patches} patches"  # the same in any batch: random pruning draws by name
    places = pages.places(features, row, patches)
    if places is None and any(stage.strategy.name == "pool-2d" for stage in reduce.stages):
        raise ReductionError(f"{name}: pool-2d needs a single page of a family whose grid is known")
    cells = np.full(len(is_patch), SPECIAL)
    cells[_array(is_patch)] = np.arange(patches) if places is None else places.cells
    page = PageEmbedding(
        name=name,
        vectors=_array(vectors),
        importance=_array(features["importance"][row, scored]),
        grid=(1, patches) if places is None else places.grid,
        cells=cells[_array(scored)],
        global_vector=_array(features["token_embeddings"][row, features["global_token"][row]]),
    )
    return _tensor(reduce(page), vectors)


def _array(tensor: Tensor) -> Any:
    """numpy has no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def _tensor(reduction: Reduction, vectors: Tensor) -> Tensor:
    if len(reduction.sources) == len(reduction.vectors):  # nothing merged: the very rows
        return vectors[torch.from_numpy(reduction.sources.astype(np.int64)).to(vectors.device)]
    if vectors.requires_grad:
        raise ReductionError("merged vectors have no gradient; train with a spec that only prunes")
    return torch.from_numpy(reduction.vectors.copy()).to(vectors)


def _with_vectors(features: Features, vectors: list[Tensor]) -> Features:
    padded = pad_sequence(vectors, batch_first=True)  # (batch, most vectors, dim)
    counts = torch.tensor([len(document) for document in vectors], device=padded.device)
    places = torch.arange(padded.shape[1], device=padded.device)
    return {**features, "token_embeddings": padded, "attention_mask": places < counts[:, None]}
