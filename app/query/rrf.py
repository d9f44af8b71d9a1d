"""Defines the scale of the scores of reciprocal rank fusion (Cormack et al. 2009)."""

from __future__ import annotations

TOTAL_WEIGHT = 2.0
"""The sum to which the weights of the legs are scaled in an RRF score, so that equal weights are 1 and the largest
score is 2 / (k + 1) in every mode."""
