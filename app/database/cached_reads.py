"""Caches what was read from the database by the version at which it was read.

Every change of what is cached raises its version, which is read in the transaction of the reader, so a change by any
process takes effect at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from cachetools import Cache

Found = TypeVar("Found")


async def get_or_find(
    cache: Cache[Hashable, Found], version: Hashable, key: Hashable, find: Callable[[], Awaitable[Found]]
) -> Found:
    """The cached value for the key at this version; on a miss, what `find` returns, which is then cached."""
    stamped = (version, key)
    cached = cache.get(stamped)
    if cached is None:
        cached = await find()
        if cache.getsizeof(cached) <= cache.maxsize:
            cache[stamped] = cached
    return cached
