"""Caches the entities that a query matched and the documents linked to them.

Keys contain the user's version, which every change of documents or entities raises and which is read in the search's
own transaction, so a change by any process takes effect at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from cachetools import LRUCache, TTLCache

from app.shapes import EntityMatch, Link
from app.store.db import Version

TTL_S = 60
MAX_QUERIES = 2_000
MAX_LINKS = 200_000
"""Cached links of all users together."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class EntityCache:
    """Entity matches by query, for TTL_S seconds, and linked documents by matched entities."""

    matches: TTLCache[Hashable, Sequence[EntityMatch]] = field(
        default_factory=lambda: TTLCache(maxsize=MAX_QUERIES, ttl=TTL_S)
    )
    links: LRUCache[Hashable, Sequence[Link]] = field(
        default_factory=lambda: LRUCache(maxsize=MAX_LINKS, getsizeof=lambda links: len(links) + 1)
    )


async def get_or_find(
    cache: TTLCache[Hashable, Found] | LRUCache[Hashable, Found],
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
