"""Counts the facets of a user's documents: of their metadata, or of their folders and file types.

Counts over all of a user's metadata are stored, and every write updates them under the user's lock. Other counts (of
files, with filters or for a restricted caller) are computed by one statement, with the same filters as a search.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from app.database import filters, foreign_filter_operators, sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.enums import Json
from app.facets.types import MAX_KEYS, Facet, FacetQuery, FacetValue

facet_keys = tables.user_table(
    "facet_keys",
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("type", sa.Text, primary_key=True),
    # Whose value is of this type.
    sa.Column("documents", sa.BigInteger, nullable=False),
    # Of this type, with the elements of lists.
    sa.Column("distinct_values", sa.BigInteger, nullable=False),
)

facet_values = tables.user_table(
    "facet_values",
    sa.Column("key", sa.Text, primary_key=True),
    # The value's beginning in lower case, and a hash of all of it: values may be too long for an index.
    sa.Column("opening", sa.Text(collation="C"), primary_key=True),
    sa.Column("hash", sa.BigInteger, primary_key=True),
    sa.Column("value", JSONB, nullable=False),
    sa.Column("documents", sa.BigInteger, nullable=False),
    sa.Index("ix_facet_values_documents", "user_id", "key", sa.text("documents DESC"), "opening", "hash"),
)

TABLES = (facet_keys, facet_values)
_TYPE_NAMES = {"array": "list"}


async def record(db: Writing, *, added: Sequence[Json] = (), removed: Sequence[Json] = ()) -> None:
    """Add the metadata of new versions of documents to the counts, and subtract the metadata of their old versions."""
    binds = {"added": _texts(added), "removed": _texts(removed)}
    if binds["added"] == binds["removed"]:
        return
    await db.execute(sql.statement("count_facets"), {"user_id": db.user_id, **binds})
    if not binds["removed"]:
        return
    keys = sa.literal(list({key for one in removed for key in one}), sa.ARRAY(sa.Text))
    for table in TABLES:  # keys and values that no document has any more
        unused = [column == 0 for column in table.c if column.name in {"documents", "distinct_values"}]
        own = table.c.user_id == db.user_id
        await db.execute(sa.delete(table).where(own, table.c.key == sa.any_(keys), *unused))


async def count_differences(db: Reading) -> int:
    """How many counts of keys and values differ from the metadata of the documents."""
    return int(await db.scalar(sql.statement("differing_facets"), {"user_id": db.user_id}))


async def recount(db: Writing) -> None:
    """Count the metadata of all documents anew."""
    for table in TABLES:
        await db.execute(sa.delete(table).where(table.c.user_id == db.user_id))
    await db.execute(sql.statement("count_facets", "all"), {"user_id": db.user_id})


def _texts(metadata: Sequence[Json]) -> list[str]:
    return [json.dumps(one, sort_keys=True) for one in metadata if one]


async def count(db: Reading, query: FacetQuery) -> list[Facet]:
    """The facets of the documents that pass the filters, those of most documents first."""
    await foreign_filter_operators.check(db, query.filters)
    among = filters.visible(db, query.filters)
    filtering = filters.binds(among)
    name = "file_facets" if query.of == "files" else "facets" if among else "counted_facets"
    binds = {
        "user_id": db.user_id,
        "key": query.key,
        "key_prefix": query.prefix if query.key is None else "",
        "value_prefix": "" if query.key is None else query.prefix,
        "keys": MAX_KEYS,
        "limit": query.limit,
    }
    rows = await db.execute(sql.statement(name, *filtering), {**binds, **filtering})
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
