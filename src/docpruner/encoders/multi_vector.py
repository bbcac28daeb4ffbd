"""Models that sentence-transformers runs as a `MultiVectorEncoder`, as encoders.

For what is published in its form (modules.json) and is none of the families in `families`: the
model's own files say how pages and queries are written, and importance comes out of the same pass.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from PIL.Image import Image
from sentence_transformers import MultiVectorEncoder

from docpruner.encoders.checkpoint import ModelFiles, with_weights
from docpruner.encoders.colvision import MOST_PIXELS
from docpruner.encoders.document_importance import (
    DocumentPages,
    Features,
    ImportanceListener,
    the_transformer,
)
from docpruner.encoders.encoder_name import Attention, EncoderName, Reads
from docpruner.encoders.page_images import page_image, page_name
from docpruner.encoders.runtime import (
    BatchSize,
    best_attention,
    best_device,
    best_dtype,
    in_batches,
)
from docpruner.errors import EncoderError
from docpruner.types import SPECIAL, FloatArray, Page, PageEmbedding, Prompt


class SentenceTransformersEncoder:
    """A `MultiVectorEncoder`; where patches stand is known for the families of `families` only."""

    prompt: Prompt = "default"
    reads: Reads = "pixels"

    def __init__(
        self, model: MultiVectorEncoder, *, name: str, batch_size: int | None = None
    ) -> None:
        self.model = model
        self.name = name
        self._size = BatchSize(str(model.device), batch_size)
        transformer = the_transformer(model)
        self._pages = DocumentPages.of(transformer)
        ImportanceListener.attach(transformer)
        self._running = threading.Lock()

    @property
    def dim(self) -> int:
        return int(self.model.get_embedding_dimension() or 0)

    @property
    def pixels(self) -> int:
        family = self._pages.family
        if family is None:
            return MOST_PIXELS
        return min(2 * family.pixels(self._pages.processor), MOST_PIXELS)

    def query_words(self, text: str) -> list[str]:
        (query,) = self._query_features([text])
        ids = query["input_ids"][query["attention_mask"].bool()]
        return [self._pages.processor.tokenizer.decode([token]) for token in ids.tolist()]

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        numbered = [(page, page_name(page, number)) for number, page in enumerate(pages)]
        return in_batches(numbered, self._size, self._encode_batch)

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        return in_batches(list(pages), self._size, self._encode_plain_batch)

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return [_scored(query, "token_embeddings") for query in self._query_features(list(texts))]

    def _query_features(self, texts: list[str]) -> list[Features]:
        with self._running:
            return self.model.encode_query(  # type: ignore[return-value]  # a list for a list
                texts, output_value=None, batch_size=self._size.now, show_progress_bar=False
            )

    def _encode_batch(self, pages: Sequence[tuple[Page | Image, str]]) -> list[PageEmbedding]:
        documents = self._document_features([page for page, _ in pages])
        named = zip(documents, pages, strict=True)
        return [self._page(features, name) for features, (_, name) in named]

    def _encode_plain_batch(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        return [_scored(page, "token_embeddings") for page in self._document_features(pages)]

    def _document_features(self, pages: Sequence[Page | Image]) -> list[Features]:
        images = [page_image(page) for page in pages]
        with self._running:
            return self.model.encode_document(  # type: ignore[return-value]  # a list for a list
                images, output_value=None, batch_size=len(images), show_progress_bar=False
            )

    def _page(self, features: Features, name: str) -> PageEmbedding:
        batch = {key: value[None] for key, value in features.items() if hasattr(value, "ndim")}
        is_patch = (features["input_ids"] == self._pages.image_token).cpu().numpy()
        patches = int(is_patch.sum())
        places = self._pages.places(batch, 0, patches)
        scored = features["attention_mask"].bool().cpu().numpy()
        cells = np.full(len(is_patch), SPECIAL)
        cells[is_patch] = np.arange(patches) if places is None else places.cells
        boxes = None
        if places is not None:
            boxes = np.zeros((len(is_patch), 4), np.float32)
            boxes[is_patch] = places.boxes
            boxes = boxes[scored]
        last = features["token_embeddings"][int(features["global_token"])]
        return PageEmbedding(
            name=name,
            vectors=_scored(features, "token_embeddings"),
            importance=_scored(features, "importance"),
            grid=(1, patches) if places is None else places.grid,
            cells=cells[scored],
            boxes=boxes,  # type: ignore[arg-type]  # None: those of the cells
            global_vector=last.float().cpu().numpy(),
        )


def _scored(features: Features, what: str) -> Any:
    """Of one text or page what counts in MaxSim, as the model's own mask says."""
    return features[what][features["attention_mask"].bool()].float().cpu().numpy()


def load_multi_vector(
    name: EncoderName,
    files: ModelFiles,
    *,
    device: str | None,
    dtype: str | None,
    batch_size: int | None,
    attention: Attention | None = None,
    trust_remote_code: bool,
) -> SentenceTransformersEncoder:
    """Load a checkpoint in the form of sentence-transformers."""
    plain = EncoderName(name.checkpoint, name.revision, name.base, name.dtype)
    if name != plain:
        raise EncoderError(
            f"{name.checkpoint} runs in sentence-transformers, with prompts and queries as its own "
            "files say: prompt, importance, queries and max_visual_tokens can't be set"
        )
    checkpoint = with_weights(files.checkpoint)
    chosen = device or best_device()
    precision = best_dtype(chosen, dtype)
    try:
        model = MultiVectorEncoder(
            str(checkpoint.folder),
            device=chosen,
            trust_remote_code=trust_remote_code,
            model_kwargs={"dtype": precision, **best_attention(chosen, precision, attention)},
        )
    except (OSError, ValueError, ImportError) as error:
        allow = "" if trust_remote_code else "; if it runs code of its own, read that, then allow "
        allow += "" if trust_remote_code else "it with trust_remote_code=True"
        raise EncoderError(
            f"{name.checkpoint} can't be loaded by sentence-transformers: {error}{allow}"
        ) from error
    full_name = replace(
        name,
        revision=checkpoint.commit,
        dtype=str(precision).removeprefix("torch."),  # type: ignore[arg-type]
    )
    return SentenceTransformersEncoder(model, name=str(full_name), batch_size=batch_size)
