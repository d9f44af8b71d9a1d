"""Defines the parameters of BM25 (Robertson and Zaragoza 2009)."""

from __future__ import annotations

from decimal import Decimal

K1 = Decimal("1.2")
"""How slowly the score of a term saturates with its frequency. A decimal, so that products of it are exact."""

B = Decimal("0.75")
"""How much of the length of a chunk is normalised away, 0 to 1."""
