"""Every model of colpali-engine as an encoder; what differs between them is in `families`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor

from docpruner.encoders.encoder_name import Importance, Reads
from docpruner.encoders.families import PageTokens, QueryForm, family_of, image_token
from docpruner.encoders.page_images import page_image, page_name
from docpruner.encoders.runtime import in_batches
from docpruner.encoders.tap import ImportanceTap, centrality_tap, importance_tap
from docpruner.errors import EncoderError
from docpruner.types import SPECIAL, FloatArray, Page, PageEmbedding, Prompt

NOISE_FILTERING = (
    "Analyze this document page. Assign high importance to regions containing text, tables, "
    "charts, and meaningful figures. Assign low importance to decorative graphics, logos, empty "
    "space, and repeating headers or footers."
)
DEFAULT_PROMPT = "Describe the image."
MOST_PIXELS = 4_000_000  # of a page; some processors set no limit of their own


def page_embeddings(
    model: Any,
    processor: Any,
    batch: Any,
    embeddings: Tensor,
    importance: Tensor,
    *,
    names: Sequence[str] | None = None,
    prompt: Prompt = "default",
) -> list[PageEmbedding]:
    """What a colpali-engine model and a tap gave for a batch of pages, page by page.

    `batch` is what `processor.process_images` made. Every real token keeps its vector; those that
    are not patches of the page are marked as special.
    """
    family = family_of(model.config.to_dict())
    names = names or [f"page {row}" for row in range(len(embeddings))]
    pages = []
    for row, name in enumerate(names):
        real = batch["attention_mask"][row].bool().cpu()
        ids = batch["input_ids"][row].cpu()[real]
        on_page = (ids == image_token(model.config)).numpy()
        thw = batch.get("image_grid_thw")
        image_grid = None if thw is None else (int(thw[row, 1]), int(thw[row, 2]))
        layout = family.layout(PageTokens(ids, int(on_page.sum()), image_grid, processor))
        vectors = embeddings[row].float().cpu()[real].numpy()
        pages.append(
            PageEmbedding(
                name=name,
                vectors=vectors,
                importance=importance[row].float().cpu()[real].numpy(),
                grid=layout.grid,
                cells=_filled(on_page, layout.cells, SPECIAL),
                boxes=_filled(on_page, layout.boxes, 0),
                global_vector=vectors[-1],
                prompt=prompt,
            )
        )
    return pages


class ColVisionEncoder:
    """A colpali-engine model; one pass gives the vectors of a page and their importance."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        *,
        name: str,
        batch_size: int,
        prompt: Prompt = "default",
        importance: Importance = "global-token",
        query: QueryForm | None = None,
    ) -> None:
        self.model = model.eval()
        self.processor = processor
        self.name = name
        self.batch_size = batch_size
        self.prompt: Prompt = prompt
        self.importance: Importance = importance
        self.family = family_of(model.config.to_dict())
        self.query = query or self.family.query
        self._processing = threading.Lock()  # a fast tokenizer changes while it works
        self._running = threading.Lock()  # the tap hears every pass of the model
        if prompt == "noise-filtering":
            self._use_noise_filtering_prompt()

    @property
    def dim(self) -> int:
        return int(getattr(self.model, self.family.projection).out_features)

    @property
    def reads(self) -> Reads:
        return "pixels"

    @property
    def pixels(self) -> int:
        """Twice what the processor ends with, which it scales down to: letters stay clear."""
        return min(2 * self.family.pixels(self.processor), MOST_PIXELS)

    def query_words(self, text: str) -> list[str]:
        with self._processing:
            batch = self._prepare_queries([text])
        ids = batch["input_ids"][0][batch["attention_mask"][0].bool()]
        return [self.processor.tokenizer.decode([token]) for token in ids.tolist()]

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        numbered = [(page, page_name(page, number)) for number, page in enumerate(pages)]
        return in_batches(numbered, self.batch_size, self._encode_batch)

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        return in_batches(list(pages), self.batch_size, self._encode_plain_batch)

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return in_batches(list(texts), self.batch_size, self._encode_query_batch)

    @torch.inference_mode()
    def _encode_batch(self, pages: Sequence[tuple[Page | Image, str]]) -> list[PageEmbedding]:
        names = [name for _, name in pages]
        images = [page_image(page) for page, _ in pages]
        try:
            with self._processing:
                batch = self._prepare_pages(images)
        except ValueError as error:  # such as a strip 200 times as long as wide
            raise EncoderError(f"{' or '.join(names)} can't be prepared: {error}") from error
        batch = batch.to(self.model.device)
        with self._running, self._tap(batch) as tap:
            embeddings = self._run(batch, self.family.page_options)
        return page_embeddings(
            self.model,
            self.processor,
            batch,
            embeddings,
            tap.importance,
            names=names,
            prompt=self.prompt,
        )

    @torch.inference_mode()
    def _encode_plain_batch(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        with self._processing:
            batch = self._prepare_pages([page_image(page) for page in pages])
        batch = batch.to(self.model.device)
        with self._running:
            return _real_vectors(batch, self._run(batch, self.family.page_options))

    @torch.inference_mode()
    def _encode_query_batch(self, texts: Sequence[str]) -> list[FloatArray]:
        with self._processing:
            batch = self._prepare_queries(list(texts))
        batch = batch.to(self.model.device)
        with self._running:
            return _real_vectors(batch, self._run(batch, {}))

    def _tap(self, batch: Any) -> AbstractContextManager[ImportanceTap]:
        if self.importance == "centrality":
            return centrality_tap(self.model, batch["input_ids"] == image_token(self.model.config))
        return importance_tap(self.model)

    def _run(self, batch: Any, options: Mapping[str, Any]) -> Tensor:
        output = self.model(**batch, **options)
        embeddings: Tensor = output if isinstance(output, Tensor) else output.embeddings
        return embeddings

    def _prepare_pages(self, images: list[Image]) -> Any:
        batch = self.processor.process_images(images)
        batch.pop("labels", None)  # ColPali's; with them it computes a loss
        return batch

    def _prepare_queries(self, texts: list[str]) -> Any:
        if self.query is None:
            batch = self.processor.process_queries(texts)
        else:
            token = self.processor.query_augmentation_token
            batch = self.processor.process_texts([self.query.around(t, token) for t in texts])
        if self.family.token_types:
            batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
        return batch

    def _use_noise_filtering_prompt(self) -> None:
        prefix = getattr(self.processor, "visual_prompt_prefix", "")
        if DEFAULT_PROMPT not in prefix:
            raise EncoderError(
                f"{type(self.processor).__name__} writes its own page prompt; the noise-filtering "
                "prompt can't be put in its place"
            )
        self.processor.visual_prompt_prefix = prefix.replace(DEFAULT_PROMPT, NOISE_FILTERING)


def _real_vectors(batch: Any, embeddings: Tensor) -> list[FloatArray]:
    """Of each row those that are no padding."""
    vectors = embeddings.float().cpu().numpy()
    real = batch["attention_mask"].bool().cpu().numpy()
    return [vectors[row][real[row]] for row in range(len(vectors))]


def _filled(where: Any, values: Any, blank: float) -> Any:
    """An array with `values` where `where` is true, in order, and `blank` elsewhere."""
    array = np.full((len(where), *values.shape[1:]), blank, values.dtype)
    array[where] = values
    return array
