"""Reduction strategies: pure functions from a `PageEmbedding` to a `Reduction`.

`reducer("docpruner:k=-0.25+sem-cluster:factor=2")` is the way in; the functions can be called
directly too.
"""

# isort: off
# The order of these imports is the order in which the strategies are listed.
from docpruner.reduce.baseline import keep_all, random_pruning
from docpruner.reduce.docpruner import adaptive_threshold
from docpruner.reduce.similarity import attention_similarity
from docpruner.reduce.pivot import pivot_threshold
from docpruner.reduce.attention import (
    attention_ratio,
    attention_threshold,
    attention_threshold_nfp,
)
from docpruner.reduce.unattended import facility_location, mean_similarity
from docpruner.reduce.cluster import semantic_clusters
from docpruner.reduce.pooling import pool_1d, pool_2d
from docpruner.reduce.spec import Reducer, Stage, reducer
from docpruner.reduce.strategy import STRATEGIES, Parameter, Strategy
# isort: on

__all__ = [
    "STRATEGIES",
    "Parameter",
    "Reducer",
    "Stage",
    "Strategy",
    "adaptive_threshold",
    "attention_ratio",
    "attention_similarity",
    "attention_threshold",
    "attention_threshold_nfp",
    "facility_location",
    "keep_all",
    "mean_similarity",
    "pivot_threshold",
    "pool_1d",
    "pool_2d",
    "random_pruning",
    "reducer",
    "semantic_clusters",
]
