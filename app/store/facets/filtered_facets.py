"""Counts the facets of the documents that pass filters, from the ids of keys and values that each write stores.

Filters are compared with the ids of all documents and their attributes, which are kept in memory; those on ids of
documents and inside of objects, and those that few documents pass, select the documents in SQL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.shapes import Facet, FacetQuery, FacetValue
from app.shapes.facets import MAX_KEYS
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.facets import document_ids, facet_conditions
from app.store.facets.document_ids import IdCache
from app.store.facets.facet_tally import Keys, Tally, ids_in

FEW = 500
"""Documents up to which those with a value are found by the index on metadata, and not by comparing all."""
SORTED = 1_000
"""Equally frequent values that are read to be sorted; of more, the first are looked for in the order of their text."""
TYPE_NAMES = {"array": "list"}


async def count(db: Reading, query: FacetQuery, cache: IdCache) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    rows = await _keys(db, query)
    conditions = await facet_conditions.read(db, query.filters) if rows else None
    if not rows or (conditions is not None and not conditions.most):
        return []
    names, types, ids, numbers = ([getattr(row, name) for row in rows] for name in ("key", "type", "id", "documents"))
    keys = Keys(names, types, ids, numbers, rows[0].last_key, rows[0].last_value, rows[0].most_documents)
    only = await _with_prefix(db, query) if query.key is not None and query.prefix else None
    if conditions is None or conditions.most <= FEW:
        tally = Tally(keys, None, only)
        await asyncio.to_thread(tally.add, await document_ids.of_passing(db, query.filters))
    else:
        tally = Tally(keys, conditions, only)
        of_all = document_ids.of_all(db, cache, keys, with_attributes=bool(conditions.tests))
        async for some, sign in of_all:
            await asyncio.to_thread(tally.add, some, sign)
    return await _facets(db, tally, query.limit)


async def _keys(db: Reading, query: FacetQuery) -> Sequence[Any]:
    binds, parts = {"user_id": db.user_id}, []
    if query.key is not None:
        parts, binds = ["one_key"], {**binds, "key": query.key}
    elif query.prefix:
        parts, binds = ["of_keys"], {**binds, "prefix": query.prefix}
    return (await db.execute(sql.statement("facet_key_ids", *parts), binds)).all()


async def _with_prefix(db: Reading, query: FacetQuery) -> Any:
    binds = {"user_id": db.user_id, "key": query.key, "prefix": query.prefix}
    return ids_in(await db.scalar(sql.statement("facet_ids_with_prefix"), binds))


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
    counts = {key: one.missing for key, one in shown.items() if one.missing}
    binds = {"user_id": db.user_id, "keys": list(counts), "counts": list(counts.values())}
    sorts = sum(len(one.tied) for one in shown.values()) <= SORTED
    ids = [id_ for one in shown.values() for id_ in one.surely]
    tied = [id_ for one in shown.values() for id_ in one.tied.tolist()] if sorts else []
    rows = [*await db.execute(sql.statement("facet_values_of_ids"), {**binds, "ids": ids, "tied": tied})]
    if not sorts:
        marked = tally.bits(*(one.tied for one in shown.values()))
        rows += await db.execute(sql.statement("first_facet_values"), {**binds, "marked": marked})
    found: dict[str, list[tuple[int, Any]]] = {}
    for row in sorted(rows, key=lambda row: -tally.documents(row.id)):
        found.setdefault(row.key, []).append((row.id, row.value))
    return found
