"""Chooses the legs of a search, their weights, and the fusion.

`mode` selects the legs; in `auto` the type of the query sets the weights, never which documents can be found. The
weights were chosen by measurement (docs/decisions/0002-fusion-weights.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from app.kinds import Fusion, FusionUsed, Mode, QueryType
from app.query import fused_scores as rrf
from app.query.types import LanguageWeights, Weights
from app.text.words import languages

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


UNREAD: Mapping[FusionUsed, Weights] = MappingProxyType({"convex": Weights(0.1, 0.9), "rrf": Weights(0.02, 1.98)})
"""Weights for a query in a language that the model does not read."""
FOREIGN: Mapping[FusionUsed, Weights] = MappingProxyType({"convex": Weights(0.8, 0.2), "rrf": Weights(1.9, 0.1)})
"""Weights for a query in another language than all documents, with a model that reads several."""

LEAST_SHARE = 0.65
"""Share of a query's words from which on the documents that contain them are in its language."""
LEAST_SHARE_OF_SCRIPT = 0.3
"""The same in a script that documents in most other languages do not have, of pairs of characters too."""


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """The weights and the fusion of one query, and what replaces the weights for some languages."""

    weights: Weights
    fusion: FusionUsed
    by_language: LanguageWeights | None = None


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


def with_languages(plan: FusionPlan, text: str, codes: frozenset[str]) -> FusionPlan:
    """Returns the plan of both legs for a query and a model that reads the languages with these codes.

    The script of a query is known, and not whether its language is that of the documents: the statement finds that out.
    Without codes the plan stays as it is.
    """
    if not codes:
        return plan
    read = languages.configs_of(codes)
    scripts = languages.configs_of_script(text)
    if scripts and not scripts & read:
        return replace(plan, weights=UNREAD[plan.fusion])
    if text.isascii():  # without a configuration are languages with other letters, and English texts by request
        read |= {languages.UNSTEMMED}
    foreign = FOREIGN[plan.fusion] if len(codes) > 1 else plan.weights
    share = LEAST_SHARE_OF_SCRIPT if scripts else LEAST_SHARE
    return replace(plan, by_language=LanguageWeights(read, share, UNREAD[plan.fusion], foreign))


def rrf_sum(score: float | None, weights: Weights) -> float:
    """Returns the sum of weight / (k + rank) from an RRF score, whose weights are scaled; 0 for None."""
    return (score or 0.0) * (weights.vector + weights.text) / rrf.TOTAL_WEIGHT
