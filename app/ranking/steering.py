"""Which legs run, with what weight, and how are they fused?

`mode` names the legs; in `auto` the query's shape steers the weights, never which documents exist. The numbers were
chosen by measuring (docs/decisions/0002-steering.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.shapes import Fusion, Mode, QueryType, Weights

EVEN = Weights(1.0, 1.0)
ONE_LEG = {"semantic": Weights(1.0, 0.0), "lexical": Weights(0.0, 1.0)}
CONVEX = Weights(0.3, 0.7)
"""Convex weights where the caller gives none (SPEC §2)."""

STEERED: dict[QueryType, Weights] = {
    "phrase": Weights(0.2, 0.8),
    "entity": Weights(0.3, 0.7),
    "conceptual": Weights(0.4, 0.6),
    "technical": Weights(0.2, 0.8),
    "keyword": Weights(0.3, 0.7),
}
"""Convex weights by the query's shape, in `mode: auto`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one query is fused."""

    weights: Weights
    fusion: Literal["rrf", "convex"]


def choose(mode: Mode, fusion: Fusion, weights: Weights | None, query_type: QueryType) -> Plan:
    """The plan for a query; what the caller gave wins, a mode of one leg keeps to that leg."""
    chosen: Literal["rrf", "convex"] = ("convex" if mode == "auto" else "rrf") if fusion == "auto" else fusion
    if mode in ONE_LEG:
        return Plan(ONE_LEG[mode], chosen)
    if weights is not None:
        return Plan(weights, chosen)
    if chosen == "rrf":
        return Plan(EVEN, chosen)
    return Plan(STEERED[query_type] if mode == "auto" else CONVEX, chosen)
