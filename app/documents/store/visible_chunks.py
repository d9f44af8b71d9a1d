"""Tells statements that show words which chunks their caller sees (fragments `visible_chunks`, `lexeme_is_visible`)."""

from __future__ import annotations

from typing import Any

from app.database.filter_types import Filters
from app.database.filters import filters
from app.database.transactions import Reading
from app.documents.store import visible_documents

MOST_VISIBLE = 2_000
"""Chunks up to which postings are compared with all chunks that the caller sees (docs/benchmarks.md)."""


async def wanted(db: Reading) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The parts and binds of a statement with the part `restricted`; none for a caller who sees everything."""
    if db.restriction is None:
        return (), {}
    await visible_documents.prepare(db)
    binds = filters.binds(filters.visible(db, Filters()))
    return ("restricted", *binds), {"most_visible": MOST_VISIBLE, **binds}
