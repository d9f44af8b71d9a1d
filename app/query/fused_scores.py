"""Defines the scales of the scores of both fusions: reciprocal ranks (Cormack et al. 2009) and weighted sums."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.kinds import FusionUsed

TOTAL_WEIGHT = 2.0
"""The sum to which the weights of the legs are scaled in an RRF score, so that equal weights are 1 and the largest
score is 2 / (k + 1) in every mode."""


EXPONENTS: Mapping[FusionUsed, float] = MappingProxyType({"rrf": 5.0, "convex": 1.0})
"""The exponent by fusion that makes a score comparable with a share of the best one."""
