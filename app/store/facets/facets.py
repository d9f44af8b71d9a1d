"""Reads the facets of a user's metadata.

Those of all documents come from counts that are stored in the transaction of each write (`facet_counts`), those with
filters from ids that are stored with them (`filtered_facets`). A restricted caller has no privilege on either: the
metadata of the documents that it sees is counted.
"""

from __future__ import annotations

from app.shapes import Facet, FacetQuery, FacetValue
from app.shapes.facets import MAX_KEYS
from app.store.connection import sql
from app.store.connection.transactions import Reading
from app.store.facets import filtered_facets
from app.store.facets.document_ids import IdCache
from app.store.facets.filtered_facets import TYPE_NAMES
from app.store.filters import filters


async def count(db: Reading, query: FacetQuery, cache: IdCache | None = None) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    if query.filters and db.restriction is None:
        return await filtered_facets.count(db, query, cache or IdCache())
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
            {TYPE_NAMES.get(name, name): int(documents) for name, documents in row.types.items()},
            row.distinct_values,
            tuple(FacetValue(value, int(documents)) for value, documents in row.commonest),
        )
        for row in rows
    ]
