"""Reads the facets of a user's metadata.

Those of all documents are kept by each write (`facet_counts`). Those of the documents that pass filters, or that a
restricted caller sees, are counted by one statement, whose filters are those of a search.
"""

from __future__ import annotations

from app.database import sql
from app.database.filters import filters, foreign_operators
from app.database.transactions import Reading
from app.facets.types import MAX_KEYS, Facet, FacetQuery, FacetValue

_TYPE_NAMES = {"array": "list"}


async def count(db: Reading, query: FacetQuery) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    await foreign_operators.check(db, query.filters)
    among = filters.visible(db, query.filters)
    filtering = filters.binds(among)
    statement = sql.statement("facets", *filtering) if among else sql.statement("counted_facets")
    prefixes = {"key_prefix": query.prefix, "value_prefix": ""}
    if query.key is not None:
        prefixes = {"key_prefix": "", "value_prefix": query.prefix}
    limits = {"keys": MAX_KEYS, "limit": query.limit}
    rows = await db.execute(statement, {"user_id": db.user_id, "key": query.key, **prefixes, **limits, **filtering})
    return [
        Facet(
            row.key,
            int(row.documents),
            {_TYPE_NAMES.get(name, name): int(documents) for name, documents in row.types.items()},
            int(row.distinct_values),
            tuple(FacetValue(value, int(documents)) for value, documents in row.commonest),
        )
        for row in rows
    ]
