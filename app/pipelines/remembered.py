"""What did the same question find about entities a moment ago?

Everything is stamped with the user's version, which every change of documents or entities raises and which is read in
the search's own transaction, so that a change by any process counts at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from cachetools import LRUCache, TTLCache

from app.shapes import EntityMatch, Link
from app.store.db import Version

SECONDS = 60
QUESTIONS = 2_000
LINKS = 200_000
"""Links remembered in all, of all users."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Remembered:
    """Entities by question, for a minute, and linked documents by entities."""

    matches: TTLCache[Hashable, Sequence[EntityMatch]] = field(
        default_factory=lambda: TTLCache(maxsize=QUESTIONS, ttl=SECONDS)
    )
    links: LRUCache[Hashable, Sequence[Link]] = field(
        default_factory=lambda: LRUCache(maxsize=LINKS, getsizeof=lambda links: len(links) + 1)
    )


async def recalled(
    cache: TTLCache[Hashable, Found] | LRUCache[Hashable, Found],
    version: Version,
    key: Hashable,
    find: Callable[[], Awaitable[Found]],
) -> Found:
    """What was found for the key at this version, or is found now."""
    stamped = (version, key)
    known = cache.get(stamped)
    if known is None:
        known = await find()
        if cache.getsizeof(known) <= cache.maxsize:
            cache[stamped] = known
    return known
