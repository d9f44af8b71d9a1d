"""Stores background jobs and hands each to one worker at a time.

The table has no row-level security, because a worker takes the next job of any user; only `claim` does that. So a job
holds ids, counts and codes, and no text of a user but the names of files that a source does not store. A worker holds
a job until its lease expires and renews the lease while it works. Another worker can claim a job with an expired lease,
so a job survives the process that started it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from app.database import sql
from app.database.pooled_connection import Rows
from app.database.schema import tables
from app.database.transactions import Database, Reading, SharedTransaction, Transaction, Writing
from app.enums import JobStatus

_j = tables.jobs.c
_OPEN = ("queued", "running")
KEPT_DAYS = 30
LONGEST_WAIT_S = 1_800.0
"""The longest time in seconds for which a job waits in the queue until it may run."""
MAX_FAILURES = 8
"""Failed attempts without progress after which a job has failed."""
MAX_ATTEMPTS = 1_000
"""Attempts after which a job has failed, also if none of them ended in an error."""
ON_FAILURE = "on_failure"
"""The field of a payload with the kind of job that is queued when the job fails or is cancelled."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as its user sees it. `error` is the code of the last failure."""

    job_id: UUID
    kind: str
    status: JobStatus
    payload: Mapping[str, Any]
    progress: Mapping[str, Any]
    result: Mapping[str, Any]
    error: str | None
    attempts: int
    created_at: datetime
    run_at: datetime
    finished_at: datetime | None

    @property
    def is_final(self) -> bool:
        """Whether the job will not run again."""
        return self.status in ("done", "failed", "cancelled")

    @property
    def document_id(self) -> str | None:
        """The document that the job stores; None if it concerns none or several."""
        return self.result.get("document_id") or self.payload.get("document_id")

    @property
    def source_id(self) -> str | None:
        """The source that the job synchronises; None for other jobs."""
        return self.payload.get("source_id")


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed job. `attempts` includes this one and identifies the claim."""

    job_id: UUID
    user_id: str
    kind: str
    payload: Mapping[str, Any]
    progress: Mapping[str, Any]
    attempts: int
    failures: int = 0


READ_S = 1.0
"""Time limit of `count_queue` in seconds, including the wait for a connection."""
_QUEUE = sql.inline(
    """
    SELECT j.kind,
           count(*) FILTER (WHERE NOT o.runs) AS waiting,
           count(*) FILTER (WHERE o.runs) AS running,
           count(*) FILTER (WHERE j.failures > 0) AS retrying,
           CAST(greatest(max(extract(epoch FROM now() - j.run_at)) FILTER (WHERE NOT o.runs), 0) AS float8) AS oldest_s
    FROM stepwell.jobs AS j, LATERAL (SELECT j.status = 'running' AND j.leased_until >= now() AS runs) AS o
    WHERE j.status IN ('queued', 'running')
    GROUP BY j.kind
    """
)
_LISTED = [_j[name] for name in JobState.__dataclass_fields__]


async def get(db: Reading, job_id: UUID) -> JobState | None:
    """One of the user's jobs; None if there is no such job."""
    row = (await db.execute(_visible(db).where(_j.job_id == job_id))).one_or_none()
    return None if row is None else JobState(**row._mapping)


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
    """A row for each kind of jobs that wait or run. Raises DatabaseUnavailable."""
    return await db.pool.rows(_QUEUE, {}, within_s=READ_S)


def _visible(db: Reading) -> sa.Select[Any]:
    """The user's jobs. A restricted caller sees the jobs that callers with the same restriction have queued."""
    query = sa.select(*_LISTED).where(_j.user_id == db.user_id)
    return query if db.restriction is None else query.where(_j.audience == db.audience)


async def open_among(db: Reading, job_ids: Sequence[UUID]) -> dict[UUID, datetime]:
    """The jobs among these that wait or run, with the times of their creation.

    A statement of its own, because a distributed table cannot be joined to this one.
    """
    if not job_ids:
        return {}
    own = (_j.user_id == db.user_id, sql.among(_j.job_id, job_ids), _j.status.in_(_OPEN))
    return {row.job_id: row.created_at for row in await db.execute(sa.select(_j.job_id, _j.created_at).where(*own))}


async def enqueue(db: Writing, kind: str, *, not_before: datetime | None = None) -> None:
    """Ensure that one job of this kind is queued for the user; requires the user's lock against duplicates."""
    waiting = sa.select(_j.job_id).where(_j.user_id == db.user_id, _j.kind == kind, _j.status == "queued")
    if await db.scalar(waiting.limit(1)) is None:
        await _add(db, kind, {}, audience=None, not_before=not_before)


async def hasten(db: Writing, kind: str) -> None:
    """Let the user's jobs of a kind that wait for a later time run now."""
    waiting = (_j.user_id == db.user_id, _j.kind == kind, _j.status == "queued", _j.run_at > sa.func.now())
    await db.execute(sa.update(tables.jobs).where(*waiting).values(run_at=sa.func.now()))


async def add(db: Writing, kind: str, payload: Mapping[str, Any]) -> UUID:
    """Queue a job for the caller, in the transaction that stores what the job works on; returns its id."""
    return await _add(db, kind, payload, audience=db.audience)


async def _add(
    db: Writing, kind: str, payload: Mapping[str, Any], *, audience: str | None, not_before: datetime | None = None
) -> UUID:
    job_id = uuid4()
    values = {
        "job_id": job_id,
        "user_id": db.user_id,
        "kind": kind,
        "payload": dict(payload),
        "audience": audience,
        "run_at": sa.func.greatest(sa.func.now(), not_before),
    }
    await db.execute(sa.insert(tables.jobs).values(**values))
    return job_id


# OFFSET forces look-ups by key, whatever the planner's statistics.
_ENQUEUE_FOR_DOCUMENTS = sql.inline(
    """
    INSERT INTO stepwell.jobs (job_id, user_id, kind, payload)
    SELECT gen_random_uuid(), :user_id, :kind::text, jsonb_build_object('document_id', d.document_id)
    FROM unnest(:document_ids::uuid[]) AS d (document_id)
    WHERE NOT EXISTS (
        SELECT FROM stepwell.jobs AS j
        WHERE j.user_id = :user_id AND j.kind = :kind AND j.status = 'queued'
          AND j.payload ->> 'document_id' = CAST(d.document_id AS text) OFFSET 0)
    RETURNING job_id
    """
)


async def enqueue_for_documents(db: Writing, kind: str, document_ids: Sequence[UUID]) -> None:
    """Ensure that one job of this kind is queued for each of these documents."""
    binds = {"user_id": db.user_id, "kind": kind, "document_ids": list(document_ids)}
    await db.execute(_ENQUEUE_FOR_DOCUMENTS, binds)


async def cancel(db: Writing, job_id: UUID) -> None:
    """Cancel a job that waits or runs; one that has ended stays. Its worker stops at its next renewal.

    If its payload names a kind of job for this case (ON_FAILURE), such a job is queued. Under the user's lock.
    """
    change = sa.update(tables.jobs).where(_j.user_id == db.user_id, _j.job_id == job_id, _j.status.in_(_OPEN))
    ended = change.values(status="cancelled", leased_until=None, finished_at=sa.func.now())
    payload = await db.scalar(ended.returning(_j.payload))
    if payload is not None and (kind := payload.get(ON_FAILURE)):
        await enqueue(db, kind)


_TAKE_TURN = sa.text("SELECT pg_advisory_xact_lock(7236411903)")


async def claim(
    db: SharedTransaction,
    *,
    kinds: Sequence[str],
    lease_s: float,
    user_id: str | None = None,
    served: Sequence[str] = (),
) -> Job | None:
    """Claim the job with the earliest run_at, of one user if given. A job with an expired lease counts as waiting.

    Jobs of the users in `served` come after the jobs of other users, in the order of `served`. Raises Busy.
    """
    # One claim follows the other: two at once would not see each other's, and claim two jobs of a kind of a user.
    await db.execute(_TAKE_TURN)
    binds = {"kinds": list(kinds), "lease_s": lease_s, "of_user": user_id, "served": list(served)}
    row = (await db.execute(sql.statement("claim_job"), binds)).one_or_none()
    return None if row is None else Job(**row._mapping)


_ASYNCHRONOUS_COMMIT = sa.text("SELECT set_config('synchronous_commit', 'off', true)")
"""The commit of the transaction does not wait for the disk or a standby. A crash of the server may undo it."""


async def renew(db: SharedTransaction, job: Job, *, lease_s: float) -> bool:
    """Extend the lease of a job. False if the job was cancelled or claimed again; true if it has just finished."""
    # `_check_wanted` of a large document takes a longer lock of the row for a cancellation.
    await db.execute(_ASYNCHRONOUS_COMMIT)
    if await _change(db, job, leased_until=_after(lease_s)):
        return True
    lost = sa.or_(_j.status == "cancelled", _j.attempts > job.attempts)
    return await db.scalar(sa.select(_j.job_id).where(_j.job_id == job.job_id, lost)) is None


async def advance(db: Transaction, job: Job, *, progress: Mapping[str, Any], lease_s: float) -> bool:
    """Store the progress of a job and extend its lease; false if the claim was lost."""
    return await _change(db, job, progress=dict(progress), failures=0, leased_until=_after(lease_s))


async def limit_lock_wait(db: SharedTransaction, milliseconds: int) -> None:
    """Limit how long this transaction waits for a job that another one changes; then Busy is raised."""
    await db.execute(sa.select(sa.func.set_config("lock_timeout", str(milliseconds), True)))


async def finish(
    db: Transaction, job: Job, *, result: Mapping[str, Any] | None = None, spent: Mapping[str, Any] | None = None
) -> bool:
    """Mark a job as done, with its result; `spent` is added to its progress. False if the claim was lost."""
    progress = _j.progress.concat(sa.cast(dict(spent or {}), postgresql.JSONB))
    return await _end(db, job, status="done", error=None, result=dict(result or {}), progress=progress)


async def fail(db: SharedTransaction, job: Job, *, error: str) -> bool:
    """Mark a job as failed, and queue the kind that its payload names (ON_FAILURE); false if the claim was lost."""
    failed = await _end(db, job, status="failed", error=error)
    if failed and (kind := job.payload.get(ON_FAILURE)):
        # One that waits already may begin before this transaction commits, and not see the failure.
        await _add(db.as_user(job.user_id), kind, {}, audience=None)
    return failed


async def _end(db: Transaction, job: Job, **values: Any) -> bool:
    """End a job, and delete the user's jobs that ended more than KEPT_DAYS ago; false if the claim was lost."""
    await db.execute(_delete_old().where(_j.user_id == job.user_id))
    return await _change(db, job, **values, leased_until=None, finished_at=sa.func.now())


def _delete_old() -> sa.Delete:
    before = sa.func.now() - sa.func.make_interval(0, 0, 0, KEPT_DAYS)
    return sa.delete(tables.jobs).where(_j.created_at < before, _j.finished_at < before)


async def expire(db: SharedTransaction, _services: object) -> int:
    """Delete the jobs of all users that ended more than KEPT_DAYS ago; returns their number.

    Jobs whose time lies further ahead than any job waits are due at once: the clock was set back after it was written.
    """
    latest = _after(LONGEST_WAIT_S)
    is_ahead = sa.or_(_j.run_at > latest, _j.leased_until > latest)
    lease = sa.case((_j.leased_until > latest, sa.func.now()), else_=_j.leased_until)  # one that is renewed stays
    due = {"run_at": sa.func.least(_j.run_at, sa.func.now()), "leased_until": lease}
    await db.execute(sa.update(tables.jobs).where(_j.status.in_(_OPEN), is_ahead).values(due))
    return (await db.execute(_delete_old())).rowcount


async def release(db: SharedTransaction, job: Job) -> bool:
    """Return a job to the queue at once, without counting the attempt."""
    return await _change(db, job, status="queued", leased_until=None, attempts=job.attempts - 1)


async def retry_later(db: SharedTransaction, job: Job, *, error: str, after_s: float) -> bool:
    """Queue a job for its next attempt after a failure; false if the claim was lost."""
    failures = sa.func.least(_j.failures, 32_766) + 1  # a smallint
    changed = {"status": "queued", "error": error, "leased_until": None, "failures": failures}
    return await _change(db, job, **changed, run_at=_after(after_s))


async def open_of_source(db: Reading, kind: str, source_id: UUID, *, only_queued: bool = False) -> list[UUID]:
    """The jobs of a source that wait or run, oldest first."""
    states = ("queued",) if only_queued else _OPEN
    of_source = _j.payload["source_id"].astext == str(source_id)
    query = sa.select(_j.job_id).where(_j.user_id == db.user_id, _j.kind == kind, of_source, _j.status.in_(states))
    return list(await db.scalars(query.order_by(_j.created_at)))


async def forget_files(db: Writing, kind: str, source_id: UUID) -> None:
    """Remove the names of files from the results of a source's jobs. Their numbers stay."""
    own = (_j.user_id == db.user_id, _j.kind == kind, _j.payload["source_id"].astext == str(source_id))
    names = sa.literal(["left_out", "failures", "warnings"], postgresql.ARRAY(sa.Text))
    without = _j.result.op("-", return_type=postgresql.JSONB())(names)
    await db.execute(sa.update(tables.jobs).where(*own).values(result=without))


async def prune(db: Transaction, job: Job, *, kept: int) -> None:
    """Delete the finished jobs with the user, kind and payload of this job, except the `kept` latest ones."""
    done = (_j.user_id == job.user_id, _j.kind == job.kind, _j.status == "done")
    alike = sa.select(_j.job_id).where(*done, _j.payload == dict(job.payload))
    ended = alike.order_by(_j.finished_at.desc()).offset(kept).scalar_subquery()
    # An array, because the planner joins a subquery to all jobs where the table was never analysed.
    await db.execute(sa.delete(tables.jobs).where(*done, _j.job_id == sa.any_(sa.func.array(ended))))


async def count(db: Reading, kind: str) -> int:
    """How many of the user's jobs of a kind wait or run."""
    own = (_j.user_id == db.user_id, _j.kind == kind, _j.status.in_(_OPEN))
    return int(await db.scalar(sa.select(sa.func.count()).where(*own)))


async def _change(db: Transaction, job: Job, **values: Any) -> bool:
    change = sa.update(tables.jobs).where(_j.job_id == job.job_id, _j.status == "running", _j.attempts == job.attempts)
    return await db.scalar(change.values(**values).returning(_j.job_id)) is not None


def _after(seconds: float) -> Any:
    return sa.func.now() + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)
