"""Chooses the legs of a search, their weights, and the fusion.

`mode` selects the legs; in `auto` the type of the query sets the weights, never which documents can be found. The
weights were chosen by measurement (docs/decisions/0002-fusion-weights.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.kinds import Fusion, FusionUsed, Mode, QueryType
from app.query import fused_scores as rrf
from app.query.types import Weights

EVEN = Weights(1.0, 1.0)
ONE_LEG = {"semantic": Weights(1.0, 0.0), "lexical": Weights(0.0, 1.0)}
CONVEX = Weights(0.3, 0.7)
"""Convex weights if the request has none."""

BY_QUERY_TYPE: dict[QueryType, Weights] = {
    "phrase": Weights(0.2, 0.8),
    "entity": Weights(0.3, 0.7),
    "conceptual": Weights(0.4, 0.6),
    "technical": Weights(0.2, 0.8),
    "keyword": Weights(0.3, 0.7),
}
"""Convex weights by query type in mode `auto`."""


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """The weights and the fusion of one query."""

    weights: Weights
    fusion: FusionUsed


BY_VECTOR = FusionPlan(ONE_LEG["semantic"], "rrf")
"""The plan of a query that is a vector without a text."""


def choose(mode: Mode, fusion: Fusion, weights: Weights | None, query_type: QueryType) -> FusionPlan:
    """Returns the plan for a query; the request's `weights` are used unless the mode has a single leg."""
    chosen: FusionUsed = ("convex" if mode == "auto" else "rrf") if fusion == "auto" else fusion
    if mode in ONE_LEG:
        return FusionPlan(ONE_LEG[mode], chosen)
    if weights is not None:
        return FusionPlan(weights, chosen)
    if chosen == "rrf":
        return FusionPlan(EVEN, chosen)
    return FusionPlan(BY_QUERY_TYPE[query_type] if mode == "auto" else CONVEX, chosen)


def rrf_sum(score: float | None, weights: Weights) -> float:
    """Returns the sum of weight / (k + rank) from an RRF score, whose weights are scaled; 0 for None."""
    return (score or 0.0) * (weights.vector + weights.text) / rrf.TOTAL_WEIGHT
