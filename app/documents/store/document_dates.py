"""Reads the dates of documents: when they were created, or a date in their metadata."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from app.database import sql
from app.database.transactions import Reading

_CREATED = sql.inline(
    """
    SELECT d.document_id, CAST(extract(epoch FROM d.created_at) * 1000000 AS bigint) AS moment
    FROM stepwell.documents AS d
    WHERE d.user_id = :user_id AND d.document_id = ANY (:document_ids)
    """,
    user_id="text",
    document_ids="uuid[]",
)
_IN_METADATA = sql.inline(
    """
    SELECT d.document_id, max(CAST(m.moment AS bigint)) AS moment
    FROM stepwell.documents AS d
    CROSS JOIN LATERAL jsonb_array_elements_text(d.moments -> 'moments' -> :key) AS m (moment)
    WHERE d.user_id = :user_id AND d.document_id = ANY (:document_ids)
    GROUP BY d.document_id
    """,
    user_id="text",
    document_ids="uuid[]",
    key="text",
)


async def of(db: Reading, document_ids: Collection[UUID], *, key: str | None) -> dict[UUID, int]:
    """The dates of documents in microseconds since 1970: their creation, or the latest date under a key of metadata.

    A document whose metadata has no date under the key, as filters read dates, has none.
    """
    binds = {"user_id": db.user_id, "document_ids": list(document_ids)}
    found = await db.execute(_CREATED, binds) if key is None else await db.execute(_IN_METADATA, {**binds, "key": key})
    return {row.document_id: row.moment for row in found}
