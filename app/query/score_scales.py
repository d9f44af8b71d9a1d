"""Defines the scales of the fused scores: reciprocal ranks (RRF, Cormack et al. 2009) and weighted sums (convex)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.kinds import FusionUsed

TOTAL_WEIGHT = 2.0
"""RRF scales the weights of the legs to this sum. Equal weights are then 1, and the largest score is 2 / (k + 1) in
every mode."""


EXPONENTS: Mapping[FusionUsed, float] = MappingProxyType({"rrf": 5.0, "convex": 1.0})
"""By fusion, the exponent that makes a score comparable with a share of the best score."""
