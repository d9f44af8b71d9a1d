"""Caches the entities that a query matched and the documents linked to each entity.

Keys contain the user's version, which every change of documents or entities raises and which is read in the search's
own transaction, so a change by any process takes effect at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.shapes import EntityMatch
from app.store import entity_lookup
from app.store.db import SearchTransaction, Version, version

TTL_S = 60
MAX_QUERIES = 2_000
MAX_LINKS = 200_000
"""Cached links of all users together."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class EntityCache:
    """Entity matches by query, for TTL_S seconds, and the link strengths of an entity's documents by entity."""

    matches: TTLCache[Hashable, Sequence[EntityMatch]] = field(
        default_factory=lambda: TTLCache(maxsize=MAX_QUERIES, ttl=TTL_S)
    )
    links: LRUCache[Hashable, Mapping[UUID, float]] = field(
        default_factory=lambda: LRUCache(maxsize=MAX_LINKS, getsizeof=lambda links: len(links) + 1)
    )


async def get_or_find(
    cache: TTLCache[Hashable, Found],
    version: Version,
    key: Hashable,
    find: Callable[[], Awaitable[Found]],
) -> Found:
    """The cached value for the key at this version; on a miss, what `find` returns, which is then cached."""
    stamped = (version, key)
    cached = cache.get(stamped)
    if cached is None:
        cached = await find()
        if cache.getsizeof(cached) <= cache.maxsize:
            cache[stamped] = cached
    return cached


async def linked_documents(
    db: SearchTransaction, user_id: str, entity_ids: Collection[UUID], *, cache: EntityCache
) -> dict[UUID, Mapping[UUID, float]]:
    """The link strengths of each entity's documents, the strongest first; one statement reads what is not cached."""
    stamp = version(db)
    found = {entity_id: cache.links.get((stamp, user_id, entity_id)) for entity_id in entity_ids}
    missing = [entity_id for entity_id, strengths in found.items() if strengths is None]
    read = await entity_lookup.documents(db, user_id, missing) if missing else {}
    for entity_id, strengths in read.items():
        if len(strengths) < cache.links.maxsize:
            cache.links[stamp, user_id, entity_id] = strengths
    return {entity_id: strengths or {} for entity_id, strengths in (found | read).items()}
