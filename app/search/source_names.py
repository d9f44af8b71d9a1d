"""Reads the names of the sources of hits, and finds sources by names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from cachetools import LRUCache

from app import capability, errors
from app.database import transactions
from app.query.search_types import Candidate
from app.search.state import SearchContext

CACHED_NAMES = 50_000
"""Largest number of source names that a process caches, for all users together."""


class SourceNames(LRUCache[Hashable, Mapping[UUID, str]]):
    """The names of users' sources, by the version of their documents."""

    def __init__(self) -> None:
        super().__init__(CACHED_NAMES, getsizeof=lambda names: len(names) + 1)


async def read(context: SearchContext, candidates: Iterable[Candidate], db: transactions.Reading) -> None:
    """Add the source names of candidates to the context, unless it has them already."""
    if any(one.source_id and one.source_id not in context.source_names for one in candidates):
        key, cache = (db.user_id, db.audience), context.services.state(SourceNames)
        found: Mapping[UUID, str] = await transactions.get_or_find(cache, db.version.data, key, partial(_names, db))
        context.source_names.update(found)


async def _names(db: transactions.Reading) -> dict[UUID, str]:
    """The names of all of the user's sources by id."""
    return {
        key: name for read_names in capability.declared("source_names") for key, name in (await read_names(db)).items()
    }


async def find(keys: Sequence[str], user_id: str, *, db: transactions.Database) -> list[UUID]:
    """The ids of the sources with these ids, names, paths or URIs. Raises NotFound, Conflict."""
    for look_up in capability.declared("source_ids"):
        found: list[UUID] = await look_up(keys, user_id, db=db)
        return found
    raise errors.NotFound(f"No such source: {keys[0]}.")
