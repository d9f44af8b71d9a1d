"""Caches the entities that a query matched and the documents linked to each entity.

Keys contain the caller's audience and the user's version, which every change of documents or entities raises.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.database.transactions import SearchTransaction
from app.query.matches import EntityMatch
from app.search.steps.guidance.store.entity_lookup import LinkedDocuments

TTL_S = 60
MAX_QUERIES = 2_000
MAX_LINKS = 200_000
"""Cached links of all users together."""


@dataclass(frozen=True, slots=True)
class EntityCache:
    """Entity matches by query, for TTL_S seconds, and the documents with the strongest links by entity."""

    matches: TTLCache[Hashable, Sequence[EntityMatch]] = field(
        default_factory=lambda: TTLCache(maxsize=MAX_QUERIES, ttl=TTL_S)
    )
    links: LRUCache[Hashable, LinkedDocuments] = field(
        default_factory=lambda: LRUCache(maxsize=MAX_LINKS, getsizeof=lambda links: len(links.strengths) + 1)
    )


def link(
    db: SearchTransaction, entity_ids: Collection[UUID], most: int, *, cache: EntityCache
) -> dict[UUID, LinkedDocuments] | None:
    """The linked documents of the entities, at most so many of each; None if those of any entity are not cached."""
    stamp = db.version
    found = {entity_id: cache.links.get((stamp, db.user_id, db.audience, entity_id, most)) for entity_id in entity_ids}
    known = {entity_id: documents for entity_id, documents in found.items() if documents is not None}
    return known if len(known) == len(found) else None


def remember(
    db: SearchTransaction, documents: Mapping[UUID, LinkedDocuments], most: int, *, cache: EntityCache
) -> None:
    """Cache the linked documents by entity, of which at most so many of each were read."""
    stamp = db.version
    for entity_id, found in documents.items():
        cache.links[stamp, db.user_id, db.audience, entity_id, most] = found
