"""Formats vectors as pgvector text."""

from __future__ import annotations

from collections.abc import Sequence


def as_text(vector: Sequence[float]) -> str:
    """A vector in pgvector's text form, to the nine digits that a 32-bit float has."""
    return f"[{','.join(['%.9g'] * len(vector))}]" % tuple(vector)
