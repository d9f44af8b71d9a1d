"""Compares the counts of a user's metadata with the documents, and corrects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from app.store.connection import sql
from app.store.connection.transactions import Reading, Writing
from app.store.facets import facet_counts
from app.store.schema import tables

_VALUES = ("key", "opening", "hash", "value", "documents")
DIFFERING_IDS = ("ids_of_documents", "attributes_of_documents", "differing_ids_of_documents")
"""The statement that counts the documents of which other ids or attributes are stored."""
_KEYS = ("key", "type", "documents", "distinct_values")


async def differences(db: Reading) -> int:
    """How many counts of values, or else of keys, or else ids and attributes of documents differ from them."""
    counts = await _rows(db, "repair_facet_values") or await _rows(db, "repair_facet_keys")
    statement = sql.statement(DIFFERING_IDS)
    return len(counts) or await db.scalar(statement, {"user_id": db.user_id})


_ADD_VALUES = sql.inline(
    """
    INSERT INTO stepwell.facet_values AS f (user_id, key, opening, hash, value, documents)
    SELECT :user_id, g.key, g.opening, g.hash, CAST(g.value AS jsonb), g.documents
    FROM unnest(:key, :opening, :hash, :value, :documents) AS g (key, opening, hash, value, documents)
    ON CONFLICT (user_id, key, opening, hash) DO UPDATE SET documents = f.documents + excluded.documents
    """,
    user_id="text",
    key="text[]",
    opening="text[]",
    hash="bigint[]",
    value="text[]",
    documents="bigint[]",
)

_ADD_KEYS = sql.inline(
    """
    INSERT INTO stepwell.facet_keys AS k (user_id, key, type, documents, distinct_values)
    SELECT :user_id, g.key, g.type, g.documents, g.distinct_values
    FROM unnest(:key, :type, :documents, :distinct_values) AS g (key, type, documents, distinct_values)
    ON CONFLICT (user_id, key, type) DO UPDATE
    SET documents = k.documents + excluded.documents, distinct_values = k.distinct_values + excluded.distinct_values
    """,
    user_id="text",
    key="text[]",
    type="text[]",
    documents="bigint[]",
    distinct_values="bigint[]",
)

_NUMBER_VALUES = sql.inline(
    """
    UPDATE stepwell.facet_values AS f SET id = n.id
    FROM (SELECT v.key, v.opening, v.hash, (SELECT coalesce(max(m.id), 0) FROM stepwell.facet_values AS m
                                            WHERE m.user_id = :user_id) + row_number() OVER () AS id
          FROM stepwell.facet_values AS v WHERE v.user_id = :user_id AND v.id IS NULL) AS n
    WHERE f.user_id = :user_id AND f.key = n.key AND f.opening = n.opening AND f.hash = n.hash
    """,
    user_id="text",
)

_NUMBER_KEYS = sql.inline(
    """
    UPDATE stepwell.facet_keys AS f SET id = n.id
    FROM (SELECT k.key, k.type, (SELECT coalesce(max(m.id), 0) FROM stepwell.facet_keys AS m
                                 WHERE m.user_id = :user_id) + row_number() OVER () AS id
          FROM stepwell.facet_keys AS k WHERE k.user_id = :user_id AND k.id IS NULL) AS n
    WHERE f.user_id = :user_id AND f.key = n.key AND f.type = n.type
    """,
    user_id="text",
)


async def correct(db: Writing) -> None:
    """Add the differences to the counts. Under the user's lock."""
    values = await _rows(db, "repair_facet_values")
    await db.execute(_ADD_VALUES, {"user_id": db.user_id, **_columns(values, _VALUES)})
    keys = await _rows(db, "repair_facet_keys")
    await db.execute(_ADD_KEYS, {"user_id": db.user_id, **_columns(keys, _KEYS)})
    await facet_counts.forget(db, keys=list({row.key for row in (*values, *keys)}))
    for statement in (_NUMBER_VALUES, _NUMBER_KEYS):
        await db.execute(statement, {"user_id": db.user_id})
    # Processes that keep ids of documents read all of them again.
    await db.execute(sa.delete(tables.facet_changes).where(tables.facet_changes.c.user_id == db.user_id))
    await facet_counts.store_ids(db)


async def _rows(db: Reading, statement: str) -> Sequence[Any]:
    return (await db.execute(sql.statement(statement), {"user_id": db.user_id})).all()


def _columns(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in names}
