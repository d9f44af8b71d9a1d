"""Stores background jobs and hands each to one worker at a time.

The table has no row-level security, because a worker takes the next job of any user; only `claim` does that. A worker
holds a job until its lease expires and renews the lease while it works. Another worker can claim a job with an expired
lease, so a job survives the process that started it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa

from app.store import sql, tables
from app.store.db import Reading, Writing

_j = tables.jobs.c
MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job. `attempts` includes this one and identifies the claim."""

    job_id: UUID
    user_id: str
    kind: str
    payload: Mapping[str, Any]
    progress: Mapping[str, Any]
    attempts: int


async def enqueue(db: Writing, user_id: str, kind: str) -> None:
    """Ensure that one job of this kind is queued for the user; requires the user's lock against duplicates."""
    waiting = sa.select(_j.job_id).where(_j.user_id == user_id, _j.kind == kind, _j.status == "queued")
    if await db.scalar(waiting.limit(1)) is None:
        await db.execute(sa.insert(tables.jobs).values(job_id=uuid4(), user_id=user_id, kind=kind))


async def claim(db: Writing, *, kinds: Sequence[str], lease_s: float, user_id: str | None = None) -> Job | None:
    """Claim the job with the earliest run_at, of one user if given; a job with an expired lease counts as waiting."""
    binds = {"kinds": list(kinds), "lease_s": lease_s, "of_user": user_id}
    row = (await db.execute(sql.statement("claim_job"), binds)).one_or_none()
    if row is None:
        return None
    return Job(row.job_id, row.user_id, row.kind, _loaded(row.payload), _loaded(row.progress), row.attempts)


async def renew(db: Writing, job: Job, *, progress: Mapping[str, Any], lease_s: float) -> bool:
    """Store the progress of a job and extend its lease; false if the claim was lost."""
    leased = sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, lease_s)
    return await _change(db, job, progress=dict(progress), leased_until=leased)


async def finish(db: Writing, job: Job) -> bool:
    """Mark a job as done; false if the claim was lost."""
    return await _change(db, job, status="done", leased_until=None, finished_at=sa.func.now())


async def release(db: Writing, job: Job) -> bool:
    """Return a job to the queue at once, without counting the attempt."""
    return await _change(db, job, status="queued", leased_until=None, attempts=job.attempts - 1)


async def retry_later(db: Writing, job: Job, *, error: str, after_s: float) -> bool:
    """Queue a failed job for its next attempt, or mark it as failed after MAX_ATTEMPTS."""
    if job.attempts >= MAX_ATTEMPTS:
        return await _change(db, job, status="failed", error=error, leased_until=None, finished_at=sa.func.now())
    later = sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, after_s)
    return await _change(db, job, status="queued", error=error, leased_until=None, run_at=later)


async def delete_finished(db: Writing, user_id: str, kind: str) -> None:
    """Delete the user's finished jobs of a kind."""
    await db.execute(sa.delete(tables.jobs).where(_j.user_id == user_id, _j.kind == kind, _j.status == "done"))


async def count(db: Reading, user_id: str, kind: str) -> int:
    """How many of the user's jobs of a kind wait or run."""
    open_ = sa.select(sa.func.count()).where(
        _j.user_id == user_id, _j.kind == kind, _j.status.in_(("queued", "running"))
    )
    return int(await db.scalar(open_) or 0)


async def _change(db: Writing, job: Job, **values: Any) -> bool:
    change = sa.update(tables.jobs).where(_j.job_id == job.job_id, _j.status == "running", _j.attempts == job.attempts)
    return await db.scalar(change.values(**values).returning(_j.job_id)) is not None


def _loaded(value: Any) -> dict[str, Any]:
    return json.loads(value) if isinstance(value, str) else dict(value)
