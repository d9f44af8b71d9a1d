"""Reads the states of a user's jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from app.database.schema import tables
from app.database.transactions import Reading
from app.jobs.types import JobState
from app.kinds import JobStatus

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


def _visible(db: Reading) -> sa.Select[Any]:
    """The user's jobs. A restricted caller sees the jobs that callers with the same restriction have queued."""
    query = sa.select(*_LISTED).where(_j.user_id == db.user_id)
    return query if db.restriction is None else query.where(_j.audience == db.audience)
