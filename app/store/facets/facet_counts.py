"""Keeps the counts of a user's metadata up to date. Every function runs under the user's lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from app.shapes import Json
from app.store.connection import sql
from app.store.connection.transactions import Reading, Writing
from app.store.schema import tables

_d = tables.documents.c
STORE_IDS = ("ids_of_documents", "attributes_of_documents", "stored_ids", "last_facet_change", "note_facet_change")
"""The statement that stores the ids of the keys and values of documents and their attributes, and notes the changes."""
REMOVE_IDS = ("removed_ids", "last_facet_change", "note_facet_change")
KEPT_CHANGES = 500
"""Noted changes of a user: a process that has read fewer of them reads the ids of all documents again."""


async def stored(db: Reading, document_id: UUID) -> Mapping[str, Any]:
    """The columns of a document on which facets depend; empty if there is no such document."""
    columns = (_d.metadata, _d.uri, _d.source_id, _d.created_at)
    query = sa.select(*columns).where(_d.user_id == db.user_id, _d.document_id == document_id)
    row = (await db.execute(query)).one_or_none()
    return {} if row is None else dict(row._mapping)


async def count(
    db: Writing, document_ids: Sequence[UUID] = (), *, added: Sequence[Json] = (), removed: Sequence[Json] = ()
) -> None:
    """Count the metadata of new versions of documents, and no longer that of the versions that they replace."""
    binds = {"added": _texts(added), "removed": _texts(removed)}
    if binds["added"] == binds["removed"]:
        return
    await db.execute(sql.statement("count_facets"), {"user_id": db.user_id, **binds})
    if document_ids:
        await store_ids(db, document_ids)
    if binds["removed"]:
        await forget(db, keys=list({key for one in removed for key in one}))


async def count_update(db: Writing, document_id: UUID, before: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Count a document of which columns have got other values, instead of what was `stored` before."""
    after = {**before, **values}
    if _texts([after["metadata"]]) != _texts([before["metadata"]]):
        await count(db, [document_id], added=[after["metadata"]], removed=[before["metadata"]])
    elif after["metadata"] and any(after[name] != value for name, value in before.items()):
        await store_ids(db, [document_id])


async def store_ids(db: Writing, document_ids: Sequence[UUID] | None = None) -> None:
    """Store the ids of the keys and values of some documents and their attributes, without documents those of all."""
    if document_ids is None:
        await db.execute(sql.statement(STORE_IDS), _noted(db))
    else:
        await db.execute(sql.statement(STORE_IDS, "some"), {**_noted(db), "document_ids": list(document_ids)})


async def remove_ids(db: Writing, document_id: UUID) -> None:
    """Delete the ids of the keys and values of a document that is about to be deleted, and its attributes."""
    await db.execute(sql.statement(REMOVE_IDS), {**_noted(db), "document_id": document_id})


async def forget(db: Writing, *, keys: Sequence[str]) -> None:
    """Delete the counts of keys and values that no document has any more."""
    for table in (tables.facet_values, tables.facet_keys):
        c = table.c
        some = c.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
        unused = [column == 0 for column in c if column.name in {"documents", "distinct_values"}]
        await db.execute(sa.delete(table).where(c.user_id == db.user_id, some, *unused))


def _texts(metadata: Sequence[Json]) -> list[str]:
    return [json.dumps(one, sort_keys=True) for one in metadata if one]


def _noted(db: Writing) -> dict[str, Any]:
    """The binds of a statement that notes a change of ids of documents."""
    return {"user_id": db.user_id, "change_id": uuid4(), "kept": KEPT_CHANGES}
