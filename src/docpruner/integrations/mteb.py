"""An encoder whose pages are pruned, as a model of mteb.

    model = PrunedModel(load_encoder("vidore/colqwen2.5-v0.2"), "docpruner:k=-0.25")
    mteb.evaluate(model, mteb.get_benchmark("ViDoRe(v2)"))
    model.pruned  # 0.52

Pages are pruned and stored as in an index, queries stay as they are, and scores are exact MaxSim
over ragged pages: mteb takes lists of vectors where its own late-interaction models pad with zeros.
Its results are filed under the encoder's name, as an experiment with this reduction and codec.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from docpruner.codecs import CodecName, Encoded, Rows, encode
from docpruner.encoders.model_options import gives_centrality
from docpruner.encoders.registry import Encoder, EncoderName
from docpruner.errors import EncoderError, MissingExtraError, SpecError
from docpruner.maxsim import maxsim, score_pages
from docpruner.reduce import reducer
from docpruner.stores.page_map import rounded
from docpruner.types import FloatArray

try:
    from mteb.models.model_meta import ModelMeta, ScoringFunction
    from mteb.types import PromptType
    from tqdm.auto import tqdm  # type: ignore[import-untyped]
except ImportError as error:
    raise MissingExtraError("running mteb", "mteb") from error

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from PIL.Image import Image

Batches = Iterable[dict[str, Any]]  # a DataLoader of mteb: a list for each column


@dataclass(frozen=True, eq=False)
class PageVectors:
    """What is stored of pages, one behind the other."""

    vectors: Encoded
    counts: tuple[int, ...]  # of each page

    @property
    def offsets(self) -> list[int]:
        return [0, *np.cumsum(self.counts).tolist()]

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, page: int) -> FloatArray:
        start, stop = self.offsets[page : page + 2]
        rows = self.vectors.rows[start:stop]
        return Encoded(self.vectors.codec, self.vectors.dim, rows).decode()


class PrunedModel:
    """Speaks mteb's `EncoderProtocol`, for text queries and pages that are pictures.

    mteb asks for the pages of a task again for each language of its queries: within a task every
    picture is encoded once.
    """

    def __init__(
        self, encoder: Encoder, spec: str = "docpruner", *, codec: CodecName = "int8"
    ) -> None:
        self._encoder, self._reduce, self._codec = encoder, reducer(spec), codec
        if encoder.reads == "words":
            raise EncoderError(
                f"{encoder.name} reads words, but mteb has pictures of pages; use an encoder that "
                "reads pictures, such as vidore/colqwen2.5-v0.2"
            )
        if self._reduce.prompt == "noise-filtering" != encoder.prompt:
            raise SpecError(
                f"{self._reduce} needs an encoder with the noise-filtering prompt, which "
                f"{encoder.name} does not have"
            )
        if self._reduce.signal == "centrality" and not gives_centrality(encoder):
            raise SpecError(
                f"{self._reduce} goes by centrality, which {encoder.name} does not give; load it "
                'with importance="both"'
            )
        self._task = ""
        self._known: dict[bytes, Rows] = {}  # of a picture of this task
        self._patches = self._stored = 0

    @property
    def pruned(self) -> float:
        """Share of the patch vectors of all pages so far that are not stored, 0..1."""
        return 1.0 - self._stored / self._patches if self._patches else 0.0

    @property
    def mteb_model_meta(self) -> ModelMeta:
        name = EncoderName.read(self._encoder.name)
        checkpoint = name.checkpoint
        if checkpoint.count("/") != 1:  # mteb wants an organisation and a name
            checkpoint = f"docpruner/{Path(checkpoint).name}"
        setting = {"reduction": str(self._reduce), "codec": self._codec}
        if name.importance != "global-token" or name.prompt != "default":
            setting |= {"importance": name.importance, "prompt": name.prompt}
        if name.query_prefix is not None:
            setting["query_prefix"] = name.query_prefix
        if name.query_tokens is not None:
            setting["query_tokens"] = str(name.query_tokens)
        return ModelMeta.create_empty(
            {
                "name": checkpoint,
                "revision": name.revision,
                "embed_dim": self._encoder.dim,
                "similarity_fn_name": ScoringFunction.MAX_SIM,
                "model_type": ["late-interaction"],
                "modalities": ["text", "image"],
                "experiment_kwargs": setting,
            }
        )

    def encode(
        self,
        inputs: Batches,
        *,
        task_metadata: TaskMetadata,
        hf_split: str,  # noqa: ARG002
        hf_subset: str,  # noqa: ARG002
        prompt_type: PromptType | None = None,
        show_progress_bar: bool = True,
        **_: Any,  # batch_size: an encoder knows its own
    ) -> PageVectors | list[FloatArray]:
        """Vectors of queries as they are, those of pages as they are stored."""
        batches = tqdm(inputs, desc="Encoding", disable=not show_progress_bar)
        if prompt_type == PromptType.query:
            texts = [text for batch in batches for text in _column(batch, "text", task_metadata)]
            return self._encoder.encode_queries(texts)
        if self._task != task_metadata.name:
            self._task = task_metadata.name
            self._known.clear()
        pages = [
            page
            for batch in batches
            for page in self._stored_rows(_column(batch, "image", task_metadata))
        ]
        vectors = Encoded(self._codec, self._encoder.dim, np.concatenate(pages))
        return PageVectors(vectors, tuple(len(page) for page in pages))

    def similarity(self, queries: Sequence[Any], pages: PageVectors | Sequence[Any]) -> FloatArray:
        """Scores of every query against every page, (queries, pages)."""
        asked = [np.asarray(query, np.float32) for query in queries]
        if isinstance(pages, PageVectors):
            return score_pages(asked, pages.vectors, pages.offsets)
        given = [np.asarray(page, np.float32) for page in pages]
        return np.stack([maxsim(query, given) for query in asked])

    def similarity_pairwise(self, queries: Sequence[Any], pages: Sequence[Any]) -> FloatArray:
        """Scores of each query against the page in the same place."""
        pairs = zip(queries, pages, strict=True)
        return np.concatenate([self.similarity([query], [page])[0] for query, page in pairs])

    def _stored_rows(self, images: Sequence[Image]) -> list[Rows]:
        """What an index would store of each picture."""
        keys = [_content(image) for image in images]
        named = zip(keys, images, strict=True)
        new = {key: image for key, image in named if key not in self._known}
        encoded = self._encoder.encode_pages(list(new.values())) if new else []
        for key, page in zip(new, encoded, strict=True):
            left = self._reduce(rounded(page))
            self._known[key] = encode(left.vectors, self._codec).rows
            self._patches += left.page_patches
            self._stored += left.patches
        return [self._known[key] for key in keys]


def _column(batch: dict[str, Any], name: str, task: TaskMetadata) -> Sequence[Any]:
    if name not in batch:
        raise EncoderError(
            f"{task.name} lacks a column {name}; PrunedModel is for tasks that search pictures of "
            "pages by text"
        )
    values: Sequence[Any] = batch[name]
    return values


def _content(image: Image) -> bytes:
    header = (image.mode, image.size, image.getpalette(), image.info.get("transparency"))
    digest = hashlib.blake2b(repr(header).encode(), digest_size=16)
    digest.update(image.tobytes())
    return digest.digest()
