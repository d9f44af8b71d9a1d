"""Counts the facets of the documents that pass filters, from the ids of keys and values that each write stores.

Conditions on values that many documents have are compared with the ids; other filters select the documents in SQL.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from cachetools import LRUCache

from app.shapes import Facet, FacetQuery, FacetValue, Filters
from app.shapes.facets import MAX_KEYS
from app.shapes.filters import is_operator_object
from app.store.connection import sql
from app.store.connection.transactions import Reading, Version
from app.store.documents import filters
from app.store.documents.facet_tally import DocumentIds, Keys, Tally, ids_in

FEW = 5_000
"""Documents up to which those with a value are found by the index on metadata, and not by comparing all."""
PORTION = 200_000
"""Documents whose ids are read at once: about 13 MB."""
CACHED_BYTES = 100_000_000
"""Memory for ids of documents in a process; those of 100,000 documents with seven keys take 13 MB."""
SORTED = 1_000
"""Equally frequent values that are read to be sorted; of more, the first are looked for in the order of their text."""
TYPE_NAMES = {"array": "list"}
_LARGEST_ID = (1 << 128) - 1
_ALL: Mapping[str, UUID] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class IdCache:
    """The ids of all documents of users, at the version at which they were read."""

    kept: LRUCache[tuple[str, Version], DocumentIds] = field(
        default_factory=lambda: LRUCache(CACHED_BYTES, getsizeof=lambda ids: ids.size)
    )


async def count(db: Reading, query: FacetQuery, cache: IdCache) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    rows = await _keys(db, query)
    conditions = await _conditions(db, query.filters) if rows else ()
    if not rows or conditions == ():
        return []
    names, types, ids = ([getattr(row, column) for row in rows] for column in ("key", "type", "id"))
    keys = Keys(names, types, ids, rows[0].last_key, rows[0].last_value)
    only = await _with_prefix(db, query) if query.key is not None and query.prefix else None
    tally = Tally(keys, conditions or (), only)
    if conditions is None:
        found = _ids(db, query.filters)
    else:
        found = _ids_of_all(db, cache, documents=max(row.documents for row in rows))
    async for some in found:
        await asyncio.to_thread(tally.add, some)
    return await _facets(db, tally, query.limit)


async def _keys(db: Reading, query: FacetQuery) -> Sequence[Any]:
    binds, parts = {"user_id": db.user_id}, []
    if query.key is not None:
        parts, binds = ["one_key"], {**binds, "key": query.key}
    elif query.prefix:
        parts, binds = ["of_keys"], {**binds, "prefix": query.prefix}
    return (await db.execute(sql.statement("facet_key_ids", *parts), binds)).all()


async def _conditions(db: Reading, filters: Filters) -> Sequence[Sequence[int]] | None:
    """The ids of values of which a document must have one, by condition; empty if no document passes.

    None if SQL is to select the documents: there are other conditions, or few documents meet one.
    """
    wanted = _wanted(filters)
    if wanted is None:
        return None
    places, keys, values = zip(*wanted, strict=True)
    texts = [json.dumps(value) for value in values]
    binds = {"user_id": db.user_id, "places": list(places), "keys": list(keys), "values": texts}
    rows = (await db.execute(sql.statement("facet_ids_of_values"), binds)).all()
    if len(rows) < len(set(places)):
        return ()
    return None if min(row.documents for row in rows) <= FEW else [row.ids for row in rows]


def _wanted(filters: Filters) -> list[tuple[int, str, Any]] | None:
    """Number, key and value of each condition; None unless all are that a key has one of some scalars."""
    metadata = filters.metadata or {}
    if not metadata or filters != Filters(metadata=metadata) or any(len(key) > 200 for key in metadata):
        return None
    found = []
    for place, condition in enumerate(metadata.values()):
        listed = _listed(condition)
        if not listed:
            return None
        found += [(place, key, value) for key in [list(metadata)[place]] for value in listed]
    return found


def _listed(condition: Any) -> Sequence[Any]:
    """The scalars of which a condition wants one; empty if it wants something else."""
    if not isinstance(condition, Mapping | list | tuple):
        return [condition]
    if is_operator_object(condition) and isinstance(condition, Mapping) and set(condition) == {"in"}:
        return list(condition["in"])
    return ()


async def _with_prefix(db: Reading, query: FacetQuery) -> Any:
    binds = {"user_id": db.user_id, "key": query.key, "prefix": query.prefix}
    return ids_in(await db.scalar(sql.statement("facet_ids_with_prefix"), binds))


async def _ids(db: Reading, among: Filters, portion: Mapping[str, UUID] = _ALL) -> AsyncIterator[DocumentIds]:
    """The ids of the documents that pass; with empty filters of all."""
    filtering = filters.binds(among)
    parts = [*(["filtered"] if filtering else []), *filtering, *(["portion"] if portion else [])]
    binds = {"user_id": db.user_id, **filtering, **portion}
    stored = await db.scalar(sql.statement("ids_of_passing_documents", *parts), binds)
    yield await asyncio.to_thread(DocumentIds.read, stored)


async def _ids_of_all(db: Reading, cache: IdCache, *, documents: int) -> AsyncIterator[DocumentIds]:
    """The ids of all documents: from the cache, or in portions if they are many."""
    portions = list(_portions(documents))
    key = (db.user_id, db.version)
    if len(portions) == 1 and key in cache.kept:
        yield cache.kept[key]
        return
    for portion in portions:
        async for ids in _ids(db, Filters(), portion if len(portions) > 1 else _ALL):
            if len(portions) == 1 and ids.size <= cache.kept.maxsize:
                cache.kept[key] = ids
            yield ids


def _portions(documents: int) -> Iterator[dict[str, UUID]]:
    """Ranges of ids of documents, which are evenly distributed."""
    number = 1 + documents // PORTION
    bounds = [_LARGEST_ID * place // number for place in range(number + 1)]
    for first, last in itertools.pairwise(bounds):
        yield {"first": UUID(int=first + (first > 0)), "last": UUID(int=last)}


@dataclass(frozen=True, slots=True)
class _Shown:
    """The values of a key that are shown, as ids, and those of which the first so many are shown besides."""

    surely: list[int]
    tied: Any
    missing: int


async def _facets(db: Reading, tally: Tally, limit: int) -> list[Facet]:
    counted = tally.keys_of_most(MAX_KEYS)
    shown = {key: _Shown(*tally.commonest(key, limit)) for key in counted}
    values = await _values(db, shown, tally)
    return [
        Facet(
            key,
            sum(types.values()),
            {TYPE_NAMES.get(name, name): documents for name, documents in types.items()},
            tally.distinct(key),
            tuple(FacetValue(value, tally.documents(id_)) for id_, value in values.get(key, ())[:limit]),
        )
        for key, types in counted.items()
    ]


async def _values(db: Reading, shown: Mapping[str, _Shown], tally: Tally) -> dict[str, list[tuple[int, Any]]]:
    """The values of each key with their ids, those of most documents first, then in the order of their text."""
    sorts = sum(len(one.tied) for one in shown.values()) <= SORTED
    ids = [id_ for one in shown.values() for id_ in (*one.surely, *(one.tied.tolist() if sorts else ()))]
    rows = [*await db.execute(sql.statement("facet_values_of_ids"), {"user_id": db.user_id, "ids": ids})]
    if not sorts:
        marked = tally.bits(*(one.tied for one in shown.values()))
        counts = {key: one.missing for key, one in shown.items() if one.missing}
        binds = {"user_id": db.user_id, "keys": list(counts), "counts": list(counts.values()), "marked": marked}
        rows += await db.execute(sql.statement("first_facet_values"), binds)
    found: dict[str, list[tuple[int, Any]]] = {}
    for row in sorted(rows, key=lambda row: -tally.documents(row.id)):
        found.setdefault(row.key, []).append((row.id, row.value))
    return found
