"""Keeps the counts of a user's metadata up to date. The functions that write run under the user's lock."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sqlalchemy as sa

from app.database import sql
from app.database.transactions import Reading, Writing
from app.facets import tables
from app.kinds import Json

_COUNTS = (tables.facet_values, tables.facet_keys)


async def count(db: Writing, *, added: Sequence[Json] = (), removed: Sequence[Json] = ()) -> None:
    """Count the metadata of new versions of documents, and no longer that of the versions that they replace."""
    binds = {"added": _texts(added), "removed": _texts(removed)}
    if binds["added"] == binds["removed"]:
        return
    await db.execute(sql.statement("count_facets"), {"user_id": db.user_id, **binds})
    if binds["removed"]:
        await _forget(db, keys=list({key for one in removed for key in one}))


async def differences(db: Reading) -> int:
    """How many counts of keys and values differ from the metadata of the documents."""
    return int(await db.scalar(sql.statement("differing_facets"), {"user_id": db.user_id}))


async def recount(db: Writing) -> None:
    """Count the metadata of all documents anew."""
    for table in _COUNTS:
        await db.execute(sa.delete(table).where(table.c.user_id == db.user_id))
    await db.execute(sql.statement("count_facets", "all"), {"user_id": db.user_id})


async def _forget(db: Writing, *, keys: Sequence[str]) -> None:
    """Delete the counts of keys and values that no document has any more."""
    for table in _COUNTS:
        c = table.c
        some = c.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
        unused = [column == 0 for column in c if column.name in {"documents", "distinct_values"}]
        await db.execute(sa.delete(table).where(c.user_id == db.user_id, some, *unused))


def _texts(metadata: Sequence[Json]) -> list[str]:
    return [json.dumps(one, sort_keys=True) for one in metadata if one]
