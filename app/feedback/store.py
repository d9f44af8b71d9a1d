"""Stores feedback on the hits of searches. It is deleted with its document or its user."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID, uuid5

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, SharedTransaction, Writing
from app.documents.store import write_checks
from app.feedback.types import FeedbackRequest, GivenFeedback

MAX_STORED = 20_000
"""Judgements of a user that are kept, the newest."""
_NAMESPACE = UUID("6f1a3c7e-0d54-4b8a-9a5e-2f6f0c9d7b11")
feedback = tables.user_table(
    "feedback",
    # Made of the query and the passage, so that a later judgement replaces an earlier one.
    sa.Column("feedback_id", sa.Uuid, primary_key=True),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("document_id", sa.Uuid, nullable=False),
    # Null if the document was judged as a whole.
    sa.Column("chunk_id", sa.Uuid),
    sa.Column("helpful", sa.Boolean, nullable=False),
    tables.moment("at"),
    tables.belongs_to(tables.documents.c.document_id),
    sa.Index(None, "user_id", "document_id"),
    sa.Index(None, "user_id", "at"),
)

TABLES = (feedback,)
_f, _d = feedback.c, tables.documents.c

_PUT = sql.inline(
    """
    INSERT INTO stepwell.feedback AS f (user_id, feedback_id, query, document_id, chunk_id, helpful, at)
    SELECT :user_id, :feedback_id::uuid, :query::text, d.document_id, :chunk_id::uuid, :helpful::boolean, now()
    FROM (
        SELECT coalesce(:document_id::uuid, (
            SELECT c.document_id FROM stepwell.chunks AS c WHERE c.user_id = :user_id AND c.chunk_id = :chunk_id
        )) AS document_id OFFSET 0
    ) AS g
    JOIN stepwell.documents AS d ON d.user_id = :user_id AND d.document_id = g.document_id
    FOR KEY SHARE OF d
    ON CONFLICT (user_id, feedback_id) DO UPDATE SET helpful = excluded.helpful, at = excluded.at
    RETURNING f.document_id
    """
)

_TRIM = sql.inline(
    """
    DELETE FROM stepwell.feedback AS f
    WHERE f.user_id = :user_id AND f.at <= (
        SELECT o.at FROM stepwell.feedback AS o
        WHERE o.user_id = :user_id
        ORDER BY o.at DESC OFFSET :kept::bigint LIMIT 1)
    """
)

_EXPIRE = sql.inline("SELECT stepwell.expire_feedback(:days::integer)")


def feedback_id(given: FeedbackRequest) -> UUID:
    """The id of a judgement. A later judgement on the same query and passage has the same id."""
    return uuid5(_NAMESPACE, f"{given.chunk_id or given.document_id} {given.query}")


async def put(db: Writing, given: FeedbackRequest) -> UUID | None:
    """Store a judgement in place of an earlier one on the same query and passage.

    Returns the document; None if there is no such passage or document.
    """
    binds = {
        "user_id": db.user_id,
        "feedback_id": feedback_id(given),
        "query": given.query,
        "document_id": given.document_id,
        "chunk_id": given.chunk_id,
        "helpful": given.helpful,
    }
    document_id: UUID | None = await db.scalar(_PUT, binds)
    if document_id is not None:
        await write_checks.check_seen(db, [document_id])
        await db.execute(_TRIM, {"user_id": db.user_id, "kept": MAX_STORED})
    return document_id


async def withdraw(db: Writing, given: FeedbackRequest) -> UUID | None:
    """Delete a judgement; returns its document, None if there is none."""
    own = sa.delete(feedback).where(_f.user_id == db.user_id, _f.feedback_id == feedback_id(given))
    document_id: UUID | None = await db.scalar(own.returning(_f.document_id))
    if document_id is not None:
        await write_checks.check_seen(db, [document_id])
    return document_id


async def list_all(db: Reading, *, days: int) -> AsyncIterator[GivenFeedback]:
    """The judgements of the last `days` days, newest first."""
    of_document = sa.and_(_d.user_id == _f.user_id, _d.document_id == _f.document_id)
    columns = (_f.query, _f.helpful, _f.document_id, _d.uri)
    query = (
        sa.select(*columns)
        .join_from(feedback, tables.documents, of_document)
        .where(_f.user_id == db.user_id, _f.at >= sa.func.now() - sa.func.make_interval(0, 0, 0, days))
        .order_by(_f.at.desc(), _f.feedback_id)
    )
    async with db.stream(query) as rows:
        async for row in rows:
            yield GivenFeedback(**row._mapping)


async def expire(db: SharedTransaction, *, days: int) -> int:
    """Delete the judgements of all users that are older than `days` days. Returns their number."""
    return int(await db.scalar(_EXPIRE, {"days": days}) or 0)
