"""Stores which chunks are hidden, and removes the postings of hidden chunks that will never be shown again.

Searches skip the postings of hidden chunks. Chunks are hidden while a job stores their document, and after their
document is deleted or replaced. A job then removes their postings in slices.
"""

from __future__ import annotations

from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.schema import tables
from app.database.transactions import Reading, Writing
from app.jobs import store as jobs

_h = tables.hidden_chunks.c


async def exist(db: Reading) -> bool:
    """Whether the user has hidden chunks."""
    return await db.scalar(sa.select(_h.first_no).where(_h.user_id == db.user_id).limit(1)) is not None


_ALLOCATE = sql.inline(
    """
    UPDATE stepwell.tenants AS t SET next_chunk_no = t.next_chunk_no + :chunks::bigint
    WHERE t.user_id = :user_id
    RETURNING t.next_chunk_no - :chunks AS first_no
    """
)


async def allocate(db: Writing, chunks: int) -> int:
    """Allocate numbers for this many chunks; returns the first. Takes the user's lock.

    The user's version stays the same, because readers see no change.
    """
    return int(await db.scalar(_ALLOCATE, {"user_id": db.user_id, "chunks": chunks}))


async def show(db: Writing, job_id: UUID) -> None:
    """Make the hidden chunks of a job visible. Under the user's lock."""
    await db.execute(sa.delete(tables.hidden_chunks).where(_h.user_id == db.user_id, _h.job_id == job_id))


async def take(db: Writing, job_id: UUID) -> int:
    """Assign the hidden chunks that belong to no open job to a job that removes their postings.

    Under the user's lock. Returns how many rows were assigned.
    """
    hiding = sa.select(_h.job_id).where(_h.user_id == db.user_id, _h.job_id.is_not(None)).distinct()
    job_ids = list(await db.scalars(hiding))
    ended = set(job_ids).difference(await jobs.open_among(db, job_ids))
    of_none = sa.or_(_h.job_id.is_(None), sql.among(_h.job_id, ended))
    change = sa.update(tables.hidden_chunks).where(_h.user_id == db.user_id, of_none).values(job_id=job_id)
    return len(list(await db.scalars(change.returning(_h.first_no))))


async def count(db: Reading, job_id: UUID) -> int:
    """Count the hidden chunks of a job."""
    numbers = sa.func.sum(_h.last_no - _h.first_no + 1)
    return int(await db.scalar(sa.select(numbers).where(_h.user_id == db.user_id, _h.job_id == job_id)) or 0)


async def unindex(db: Writing, job_id: UUID, *, after: str, limit: int) -> str | None:
    """Remove the postings of a job's hidden chunks for up to `limit` lexemes after `after`, in alphabetical order.

    Returns the last of these lexemes, None if there was none. Takes the user's lock.
    """
    await db.hold()
    # Planned for a user whom the statistics do not know yet, it reads all of the user's postings for each lexeme.
    await db.execute(sa.text("SET LOCAL plan_cache_mode = 'force_generic_plan'"))
    binds = {"user_id": db.user_id, "job_id": job_id, "after": after, "limit": limit}
    last: str | None = await db.scalar(sql.statement("unindex_hidden"), binds)
    return last


async def forget(db: Writing, job_id: UUID) -> None:
    """Delete the rows of a job's hidden chunks, once they have no postings. Takes the user's lock."""
    await db.hold()
    await db.execute(sql.statement("forget_hidden"), {"user_id": db.user_id, "job_id": job_id})
