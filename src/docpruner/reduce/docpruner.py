"""DocPruner itself."""

from docpruner.reduce.keep import keep_patches
from docpruner.reduce.strategy import strategy
from docpruner.reduce.threshold import (
    AdaptationFactor,
    Floor,
    SignalChoice,
    StatisticsChoice,
    above,
    adaptive_tau,
    importance_by,
)
from docpruner.types import PageEmbedding, Reduction


@strategy("docpruner", "adaptive pruning", sees_vectors=False)
def adaptive_threshold(
    page: PageEmbedding,
    *,
    k: AdaptationFactor = -0.25,
    statistics: StatisticsChoice = "paper",
    floor: Floor = 0,
    signal: SignalChoice = "global-token",
) -> Reduction:
    """Keep the patches whose importance exceeds the page's mean by k deviations.

    The most important patch always stays. Pages whose patches all matter alike have σ = 0, and
    by the paper's strict inequality keep only that one; a warning says so. With a `floor`, a page
    of a few words, which would lose one of them, stays whole.
    """
    importance = importance_by(page, signal)
    tau = adaptive_tau(importance, k, statistics)
    return keep_patches(page, above(importance, tau, page.name, floor=floor))
