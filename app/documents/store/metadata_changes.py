"""Tells those who count or watch metadata what a write changes, under the user's lock."""

from __future__ import annotations

from collections.abc import Sequence

from app import capability
from app.database.transactions import Writing
from app.kinds import Json


async def note(db: Writing, *, added: Sequence[Json] = (), removed: Sequence[Json] = ()) -> None:
    """Pass on the metadata of new versions of documents, and that of the versions that they replace."""
    for take in capability.declared("metadata"):
        await take(db, added=added, removed=removed)
