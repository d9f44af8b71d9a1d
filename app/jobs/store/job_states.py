"""Reads the states of a user's jobs, and the length of the queue of all users."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database import sql
from app.database.connections import Rows
from app.database.schema import tables
from app.database.transactions import Database, Reading
from app.jobs.types import JobState
from app.kinds import JobStatus

READ_S = 1.0
"""How long the statement may take, the wait for a connection included."""
_QUEUE = sql.inline(
    """
    SELECT j.kind,
           count(*) FILTER (WHERE NOT o.runs) AS waiting,
           count(*) FILTER (WHERE o.runs) AS running,
           count(*) FILTER (WHERE j.failures > 0) AS retrying,
           CAST(coalesce(max(extract(epoch FROM now() - j.run_at)) FILTER (WHERE NOT o.runs), 0) AS float8) AS oldest_s
    FROM stepwell.jobs AS j, LATERAL (SELECT j.status = 'running' AND j.leased_until >= now() AS runs) AS o
    WHERE j.status IN ('queued', 'running')
    GROUP BY j.kind
    """
)
_j = tables.jobs.c
_LISTED = [_j[name] for name in JobState.__dataclass_fields__]


async def get(db: Reading, job_id: UUID) -> JobState | None:
    """One of the user's jobs."""
    row = (await db.execute(_visible(db).where(_j.job_id == job_id))).one_or_none()
    return None if row is None else JobState(**row._mapping)


async def newest(db: Reading, *, without: Sequence[str]) -> UUID | None:
    """The newest of the user's jobs that is of none of these kinds."""
    query = _visible(db).where(_j.kind != sa.all_(sa.cast(list(without), sa.ARRAY(sa.Text))))
    query = query.order_by(_j.created_at.desc(), _j.job_id.desc()).limit(1)
    row = (await db.execute(query)).one_or_none()
    return None if row is None else row.job_id


async def page(
    db: Reading, *, limit: int, after: tuple[datetime, UUID] | None, status: JobStatus | None
) -> list[JobState]:
    """The user's jobs, newest first, continuing after the position `after`."""
    query = _visible(db)
    if after is not None:
        query = query.where(sa.tuple_(_j.created_at, _j.job_id) < sa.tuple_(*map(sa.literal, after)))
    if status is not None:
        query = query.where(_j.status == status)
    query = query.order_by(_j.created_at.desc(), _j.job_id.desc()).limit(limit)
    return [JobState(**row._mapping) for row in await db.execute(query)]


async def count_queue(db: Database) -> Rows:
    """A row for each kind of which jobs wait or run. Raises DatabaseUnavailable."""
    return await db.pool.rows(_QUEUE, {}, within_s=READ_S)


def _visible(db: Reading) -> sa.Select[Any]:
    """The user's jobs. A restricted caller sees the jobs that callers with the same restriction have queued."""
    query = sa.select(*_LISTED).where(_j.user_id == db.user_id)
    return query if db.restriction is None else query.where(_j.audience == db.audience)
