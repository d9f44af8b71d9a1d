"""Defines the constants of scoring: the parameters of BM25, and the scales of the fused scores.

BM25 follows Robertson and Zaragoza (2009). Fused scores are sums of reciprocal ranks (RRF, Cormack et al. 2009) or
weighted sums (convex).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from app.enums import FusionUsed

K1 = Decimal("1.2")
"""How slowly the score of a term saturates with its frequency. A decimal, so that products of it are exact."""

B = Decimal("0.75")
"""How much of the length of a chunk is normalised away, 0 to 1."""

TOTAL_WEIGHT = 2.0
"""RRF scales the weights of the legs to this sum. Equal weights are then 1, and the largest score is 2 / (k + 1) in
every mode."""

EXPONENTS: Mapping[FusionUsed, float] = MappingProxyType({"rrf": 5.0, "convex": 1.0})
"""By fusion, the exponent that makes a score comparable with a share of the best score."""
