"""Finds sources by the names that filters give."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from app import capability, errors
from app.database.transactions import Database


async def find(keys: Sequence[str], user_id: str, *, db: Database) -> list[UUID]:
    """The ids of the sources with these ids, names, paths or URIs. Raises NotFound, Conflict."""
    for look_up in capability.declared("source_ids"):
        found: list[UUID] = await look_up(keys, user_id, db=db)
        return found
    raise errors.NotFound(f"No such source: {keys[0]}.")
