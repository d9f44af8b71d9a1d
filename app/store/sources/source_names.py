"""Reads the names of the sources of candidates, once for each version of a user's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache

from app.shapes import Candidate
from app.store.connection.transactions import Reading
from app.store.sources import sources

MAX_NAMES = 50_000
"""Cached names of all users together."""

Names = Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class SourceNames:
    """The names of the sources of the users whose documents were found last, by user, audience and version."""

    entries: LRUCache[tuple[str, str | None, int], Names] = field(
        default_factory=lambda: LRUCache(MAX_NAMES, getsizeof=lambda names: len(names) + 1)
    )

    async def of(self, candidates: Sequence[Candidate], db: Reading) -> Names:
        """The names of the user's sources by id; none if no candidate comes from one."""
        if not any(candidate.source_id for candidate in candidates):
            return {}
        key = (db.user_id, db.audience, db.version.data)
        found = self.entries.get(key)
        if found is None:
            found = {source_id: draft.shown_name for source_id, draft in (await sources.drafts(db)).items()}
            self.entries[key] = found
        return found
