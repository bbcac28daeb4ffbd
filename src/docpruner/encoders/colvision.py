"""Every model of colpali-engine as an encoder; what differs between them is in `families`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor

from docpruner.encoders.encoder_name import Importance, Reads
from docpruner.encoders.families import PageTokens, QueryForm, family_of, image_token
from docpruner.encoders.page_images import page_image, page_name
from docpruner.encoders.runtime import BatchSize, copy_back, in_batches, is_out_of_memory
from docpruner.encoders.steps import Pending
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
    centrality: Tensor | None = None,
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
                centrality=(
                    None if centrality is None else centrality[row].float().cpu()[real].numpy()
                ),
                grid=layout.grid,
                cells=_filled(on_page, layout.cells, SPECIAL),
                boxes=_filled(on_page, layout.boxes, 0),
                global_vector=vectors[-1],
                prompt=prompt,
            )
        )
    return pages


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """What the processor has made of a few pages; the pages stay, should they be too many."""

    pages: Sequence[tuple[Page | Image, str]]  # with their names
    inputs: dict[str, Any]  # in memory that a GPU can copy from by itself


class ColVisionEncoder:
    """A colpali-engine model; one pass gives the vectors of a page and their importance."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        *,
        name: str,
        batch_size: int | None = None,
        prompt: Prompt = "default",
        importance: Importance = "global-token",
        query: QueryForm | None = None,
    ) -> None:
        self.model = model.eval()
        self.processor = processor
        self.name = name
        self.prompt: Prompt = prompt
        self.importance: Importance = importance
        self.family = family_of(model.config.to_dict())
        self.query = query or self.family.query
        self._size = BatchSize(str(model.device), batch_size)
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

    @property
    def batch_size(self) -> int:
        return self._size.now

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        return in_batches(_named(pages), self._size, self._encode_batch)

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        return in_batches(list(pages), self._size, self._encode_plain_batch)

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return in_batches(list(texts), self._size, self._encode_query_batch)

    def prepare(self, pages: Sequence[Page | Image]) -> PreparedBatch:
        return self._prepared(_named(pages))

    def run(self, prepared: PreparedBatch) -> Pending:
        """Pages that turn out to be too many for the memory are done in smaller batches."""
        count = len(prepared.pages)
        if count <= self._size.now:
            try:
                self._size.began()
                pending = self._started(prepared)
                self._size.passed(count)
                return pending
            except (torch.OutOfMemoryError, RuntimeError) as error:
                if count == 1 or not is_out_of_memory(error):
                    raise
                self._size.failed(count)
        return partial(list, in_batches(prepared.pages, self._size, self._encode_batch))

    def _encode_batch(self, pages: Sequence[tuple[Page | Image, str]]) -> list[PageEmbedding]:
        return self._started(self._prepared(pages))()

    def _prepared(self, pages: Sequence[tuple[Page | Image, str]]) -> PreparedBatch:
        images = [page_image(page) for page, _ in pages]
        try:
            with self._processing:
                batch = self._prepare_pages(images)
        except ValueError as error:  # such as a strip 200 times as long as wide
            names = " or ".join(name for _, name in pages)
            raise EncoderError(f"{names} can't be prepared: {error}") from error
        return PreparedBatch(pages, self._pinned(batch))

    @torch.inference_mode()
    def _started(self, prepared: PreparedBatch) -> Pending:
        """The device gets all its work at once, and one copy brings the results back."""
        batch = self._on_device(prepared.inputs)
        with self._running, self._tapped(batch) as taps:
            embeddings = self._run(batch, self.family.page_options)
            signals = [tap.importance.to(embeddings.device)[..., None] for tap in taps]
            copied = copy_back(torch.cat([embeddings.float(), *signals], -1))
        dim, with_centrality = embeddings.shape[-1], self.importance == "both"

        def collect() -> list[PageEmbedding]:
            found = copied()
            return page_embeddings(
                self.model,
                self.processor,
                prepared.inputs,
                found[..., :dim],
                found[..., dim],
                names=[name for _, name in prepared.pages],
                prompt=self.prompt,
                centrality=found[..., dim + 1] if with_centrality else None,
            )

        return collect

    @torch.inference_mode()
    def _encode_plain_batch(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        with self._processing:
            batch = self._prepare_pages([page_image(page) for page in pages])
        inputs = self._pinned(batch)
        with self._running:
            vectors = self._run(self._on_device(inputs), self.family.page_options)
        return _real_vectors(inputs, vectors)

    @torch.inference_mode()
    def _encode_query_batch(self, texts: Sequence[str]) -> list[FloatArray]:
        with self._processing:
            inputs = self._pinned(self._prepare_queries(list(texts)))
        with self._running:
            vectors = self._run(self._on_device(inputs), {})
        return _real_vectors(inputs, vectors)

    def _pinned(self, batch: Any) -> dict[str, Any]:
        """Where a GPU can fetch it without the processor."""
        if self.model.device.type != "cuda":
            return dict(batch)
        return {
            key: value.pin_memory() if isinstance(value, Tensor) else value
            for key, value in batch.items()
        }

    def _on_device(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        device = self.model.device
        return {
            key: value.to(device, non_blocking=True) if isinstance(value, Tensor) else value
            for key, value in inputs.items()
        }

    @contextmanager
    def _tapped(self, batch: Any) -> Iterator[list[ImportanceTap]]:
        """What reads importance and then, if both signals are asked for, centrality."""
        with ExitStack() as stack:
            taps = []
            if self.importance != "centrality":
                taps.append(stack.enter_context(importance_tap(self.model)))
            if self.importance != "global-token":
                patches = batch["input_ids"] == image_token(self.model.config)
                taps.append(stack.enter_context(centrality_tap(self.model, patches)))
            yield taps

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


def _named(pages: Sequence[Page | Image]) -> list[tuple[Page | Image, str]]:
    return [(page, page_name(page, number)) for number, page in enumerate(pages)]


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
