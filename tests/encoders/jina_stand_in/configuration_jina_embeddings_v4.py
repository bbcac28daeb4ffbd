"""The settings that Jina Embeddings v4 adds to those of Qwen2.5-VL."""

from typing import Any

from transformers import Qwen2_5_VLConfig


class JinaEmbeddingsV4Config(Qwen2_5_VLConfig):
    def __init__(
        self,
        single_vector_pool_strategy: str = "mean",
        multi_vector_projector_dim: int = 128,
        verbosity: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.single_vector_pool_strategy = single_vector_pool_strategy
        self.multi_vector_projector_dim = multi_vector_projector_dim
        self.verbosity = verbosity
