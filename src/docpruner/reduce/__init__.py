"""Reduction strategies: pure functions # isort: off  (the order in which they are imported is the order in which they are listed)
from docpruner.reduce.baseline import keep_all, random_pruning
from docpruner.reduce.docpruner import adaptive_threshold
from docpruner.reduce.similarity import attention_similarity
from docpruner.reduce.pivot import pivot_threshold
from docpruner.reduce.attention import (
    attention_ratio,
    attention_threshold,
    attention_threshold_nfp,
)
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
    "keep_all",
    "pivot_threshold",
    "pool_1d",
    "pool_2d",
    "random_pruning",
    "reducer",
    "semantic_clusters",
]
