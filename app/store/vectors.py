"""How does a vector cross into Postgres?"""

from __future__ import annotations

from collections.abc import Sequence


def as_text(vector: Sequence[float]) -> str:
    """A vector in pgvector's text form."""
    return "[" + ",".join(map(repr, vector)) + "]"
