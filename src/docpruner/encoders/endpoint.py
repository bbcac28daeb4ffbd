"""A model behind a server: vLLM's pooling endpoint, or another that answers alike.

It gives the vectors of all tokens and no attention: pages have no importance, and which vector
stands where on the page is not known. Strategies that go by importance are refused.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urljoin

import numpy as np

from docpruner.encoders.encoder_name import Reads
from docpruner.encoders.page_images import page_image, page_name
from docpruner.errors import EncoderError
from docpruner.types import FloatArray, Page, PageEmbedding, Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

PAGE_TEXT = "Describe the image."  # as in vLLM's examples for models of this kind
PIXELS = 1_500_000
SECONDS = 120.0  # for an answer; a busy server lets a request wait
AT_ONCE = 8  # requests: the server makes batches of them
SHOWN = 300  # characters of what a server says


class EndpointEncoder:
    """Encodes by `http://host:port/#model`: `/pooling` of that server, asked for that model."""

    prompt: Prompt = "default"
    reads: Reads = "pixels"
    pixels = PIXELS
    gives_importance = False

    def __init__(self, name: str) -> None:
        self.name = name
        address, self._model = urldefrag(name)
        if not self._model:
            raise EncoderError(f"{name} names no model; write {address.rstrip('/')}/#its-name")
        self._url = urljoin(address if address.endswith("/") else address + "/", "pooling")
        (vectors,) = self.encode_queries(["dimensions"])
        self.dim = vectors.shape[1]

    def query_words(self, text: str) -> list[str]:
        """The server doesn't say how it cuts a query: its vectors are numbered."""
        (vectors,) = self.encode_queries([text])
        return [f"[{number}]" for number in range(1, len(vectors) + 1)]

    def encode_pages(self, pages: Sequence[Page | Image]) -> list[PageEmbedding]:
        names = [page_name(page, number) for number, page in enumerate(pages)]
        vectors = self.encode_plain(pages)
        return [_page(name, rows) for name, rows in zip(names, vectors, strict=True)]

    def encode_plain(self, pages: Sequence[Page | Image]) -> list[FloatArray]:
        with ThreadPoolExecutor(AT_ONCE, "docpruner-endpoint") as pool:
            return list(pool.map(self._page_vectors, pages))

    def encode_queries(self, texts: Sequence[str]) -> list[FloatArray]:
        return [self._vectors({"input": text, "task": "token_embed"}) for text in texts]

    def _page_vectors(self, page: Page | Image) -> FloatArray:
        picture = BytesIO()
        page_image(page).save(picture, "PNG", compress_level=1)
        encoded = base64.b64encode(picture.getvalue()).decode()
        content = [
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
            {"type": "text", "text": PAGE_TEXT},
        ]
        return self._vectors({"messages": [{"role": "user", "content": content}]})

    def _vectors(self, question: dict[str, Any]) -> FloatArray:
        answer = self._post({"model": self._model, "encoding_format": "float", **question})
        try:
            (item,) = answer["data"]
            vectors: FloatArray = np.asarray(item["data"], np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise EncoderError(
                f"{self._url} gave no token vectors ({type(error).__name__}: {error}); is "
                f"{self._model} a model of several vectors, served with its pooling runner?"
            ) from None
        if vectors.ndim != 2 or not vectors.size:
            raise EncoderError(
                f"{self._url} gave vectors of shape {vectors.shape} instead of one for each token; "
                f"{self._model} is no model of several vectors"
            )
        return vectors

    def _post(self, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self._url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            said = error.read(SHOWN).decode(errors="replace").strip()
            raise EncoderError(f"{self._url} refused ({error.code}): {said}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise EncoderError(
                f"{self._url} can't be reached ({reason}); start it, such as with: vllm serve "
                f"{self._model}"
            ) from None


def _page(name: str, vectors: FloatArray) -> PageEmbedding:
    nothing = np.zeros(len(vectors), np.float32)
    return PageEmbedding(name, vectors, nothing, (1, len(vectors)))
