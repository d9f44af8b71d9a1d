"""Holds the service's defaults of the options of a ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RankingDefaults:
    """What a request leaves open, as the settings of the service say it.

    `boost_by_type` maps an entity type to the boost for each mention and the largest boost.
    """

    k: int = 60
    candidates: int = 100
    alpha: float = 0.5
    threshold: float = 0.5
    max_entities: int = 5
    rerank_weight: float = 0.5
    mmr_lambda: float = 0.7
    boost_by_type: Mapping[str, tuple[float, float]] = field(default_factory=dict)
