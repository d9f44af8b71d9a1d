"""Compares the counts of a user's metadata with the documents, and corrects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.store.connection import sql
from app.store.connection.transactions import Reading, Writing
from app.store.documents import facet_counts

_VALUES = ("key", "opening", "hash", "value", "documents")
_KEYS = ("key", "type", "documents", "distinct_values")


async def differences(db: Reading) -> int:
    """How many counts of values, or else of keys, differ from the metadata of the documents."""
    return len(await _rows(db, "repair_facet_values") or await _rows(db, "repair_facet_keys"))


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


async def correct(db: Writing) -> None:
    """Add the differences to the counts. Under the user's lock."""
    values = await _rows(db, "repair_facet_values")
    await db.execute(_ADD_VALUES, {"user_id": db.user_id, **_columns(values, _VALUES)})
    keys = await _rows(db, "repair_facet_keys")
    await db.execute(_ADD_KEYS, {"user_id": db.user_id, **_columns(keys, _KEYS)})
    await facet_counts.forget(db, keys=list({row.key for row in (*values, *keys)}))


async def _rows(db: Reading, statement: str) -> Sequence[Any]:
    return (await db.execute(sql.statement(statement), {"user_id": db.user_id})).all()


def _columns(rows: Sequence[Any], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [getattr(row, name) for row in rows] for name in names}
