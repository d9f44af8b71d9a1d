"""Lists, follows and cancels the background jobs of a user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app import errors
from app.database.transactions import Database, Reading, retry_read
from app.enums import JobStatus
from app.jobs import store as jobs
from app.jobs import workers
from app.jobs.store import JobState

POLL_S = 0.5
"""Pause between two looks at a job that is followed."""
KEEP_ALIVE_S = 10.0
"""Time without an item after which one is sent while a job is followed."""


@retry_read
async def get(job_id: UUID, user_id: str, *, db: Database) -> JobState:
    """One job. Its result includes the details that `JobKind.details` finds for its kind. Raises NotFound."""
    async with db.primary.reading(user_id) as reading:
        found = await _read(reading, job_id)
        details = next((kind.details for kind in workers.every_kind() if kind.name == found.kind), None)
        if details is None:
            return found
        return replace(found, result={**found.result, **await details(reading, found.job_id)})


@retry_read
async def page(
    user_id: str,
    *,
    db: Database,
    limit: int,
    after: tuple[datetime, UUID] | None = None,
    status: JobStatus | None = None,
) -> list[JobState]:
    """The user's jobs, newest first."""
    async with db.primary.reading(user_id) as reading:
        return await jobs.page(reading, limit=limit, after=after, status=status)


async def follow(shown: JobState, user_id: str, *, db: Database) -> AsyncGenerator[JobState | None, None]:
    """Yields a job at once and after each change until it has ended; None if nothing has changed for KEEP_ALIVE_S.

    If the database is unavailable or too slow, the job counts as unchanged. If the job no longer exists, it counts as
    done where jobs of its kind are deleted when they finish, and else as cancelled: it was deleted with its user.
    """
    yield shown
    yielded_at = time.monotonic()
    while not shown.is_final:
        await asyncio.sleep(POLL_S)
        try:
            now = await get(shown.job_id, user_id, db=db)
        except (errors.Unavailable, errors.DeadlineExceeded):
            now = shown
        except errors.NotFound:
            ends_deleted = any(kind.name == shown.kind and kind.kept == 0 for kind in workers.every_kind())
            now = replace(shown, status="done" if ends_deleted else "cancelled")
        if now != shown or time.monotonic() - yielded_at >= KEEP_ALIVE_S:
            yield now if now != shown else None
            shown, yielded_at = now, time.monotonic()


async def cancel(job_id: UUID, user_id: str, *, db: Database) -> JobState:
    """Cancel a job that waits or runs; one that has ended stays as it is. The result is without `JobKind.details`.

    Raises NotFound, and Conflict where a job of its kind cannot be cancelled.
    """
    async with db.primary.reading(user_id) as reading:
        found = await _read(reading, job_id)
    if any(kind.name == found.kind and not kind.is_cancellable for kind in workers.every_kind()):
        raise errors.Conflict("Jobs that update links or postings cannot be cancelled.")
    async with db.locking(user_id, checked=True) as writing:
        await jobs.cancel(writing, found.job_id)
        return await _read(writing, found.job_id)


async def _read(db: Reading, job_id: UUID) -> JobState:
    found = await jobs.get(db, job_id)
    if found is None:
        raise errors.NotFound("No such job.")
    return found
