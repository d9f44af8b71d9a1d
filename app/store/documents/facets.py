"""Reads the facets of a user's metadata.

Those of all documents come from counts that are stored in the transaction of each write (`facet_counts`), others are
counted.
"""

from __future__ import annotations

from app.shapes import Facet, FacetQuery, FacetValue
from app.shapes.facets import MAX_KEYS
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.documents import filters

_NAMES = {"array": "list"}


async def count(db: Reading, query: FacetQuery) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    among = filters.visible(db, query.filters)
    filtering = filters.binds(among)
    parts = [*filtering]
    binds = {"user_id": db.user_id, "keys": MAX_KEYS, "limit": query.limit, **filtering}
    if query.key is not None:
        parts.append("one_key")
        binds["key"] = query.key
    if query.prefix:
        parts.append("of_keys" if query.key is None else "of_values")
        binds["prefix"] = query.prefix
    rows = await db.execute(sql.statement("facets" if among else "counted_facets", *parts), binds)
    return [
        Facet(
            row.key,
            int(row.documents),
            {_NAMES.get(name, name): int(documents) for name, documents in row.types.items()},
            row.distinct_values,
            tuple(FacetValue(value, int(documents)) for value, documents in row.commonest),
        )
        for row in rows
    ]
